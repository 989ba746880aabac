"""Releases that need a trusted curator: what is true of all patients together.

One noisy aggregate hides a patient among all others, so that its noise shrinks with their
number. Whoever computes it sees every row; the trust model is ``central``.

Read it in this order: :mod:`~neuroveil.privacy.central.calibration` (sensitivity and noise of
mean and second moment), :mod:`~neuroveil.privacy.central.moments` (exact sums),
:mod:`~neuroveil.privacy.central.mean_covariance` (the mechanism),
:mod:`~neuroveil.privacy.central.covariance` and
:mod:`~neuroveil.privacy.central.synthetic` (what is made of its release),
:mod:`~neuroveil.privacy.central.pca` (a basis for rows),
:mod:`~neuroveil.privacy.central.exponential`,
:mod:`~neuroveil.privacy.central.quantile_budget` and
:mod:`~neuroveil.privacy.central.quantiles` (quantiles for scaling),
:mod:`~neuroveil.privacy.central.forecast`, :mod:`~neuroveil.privacy.central.forms` and
:mod:`~neuroveil.privacy.central.choice` (what will be left, and which release leaves most).
What each answers for in a certificate is in :mod:`~neuroveil.privacy.central.links`.
"""
