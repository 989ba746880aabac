"""Releases that need a trusted curator: what is true of all patients together.

One noisy aggregate hides a patient among all others, so that its noise shrinks with their
number. Whoever computes it sees every row; the trust model is ``central``.

Mean and covariance: :mod:`~neuroveil.privacy.central.moment_spec` (what is asked for),
:mod:`~neuroveil.privacy.central.calibration` (sensitivity and noise),
:mod:`~neuroveil.privacy.central.moments` (exact sums),
:mod:`~neuroveil.privacy.central.mean_covariance` (the mechanism),
:mod:`~neuroveil.privacy.central.covariance` and
:mod:`~neuroveil.privacy.central.synthetic` (what is made of its release, at no cost).

A basis for rows: :mod:`~neuroveil.privacy.central.pca`,
:mod:`~neuroveil.privacy.central.basis`, :mod:`~neuroveil.privacy.central.rank`.

Quantiles for scaling: :mod:`~neuroveil.privacy.central.quantile_spec`,
:mod:`~neuroveil.privacy.central.exponential` (one exact choice),
:mod:`~neuroveil.privacy.central.quantile_budget` (what many cost) and
:mod:`~neuroveil.privacy.central.quantiles` (the mechanism).

Planning: :mod:`~neuroveil.privacy.central.spectrum`,
:mod:`~neuroveil.privacy.central.forecast` and :mod:`~neuroveil.privacy.central.forms` (what will
be left) and :mod:`~neuroveil.privacy.central.choice` (which release leaves most).
"""
