"""Mechanisms: how a bounded row becomes a value that may be published.

:mod:`~neuroveil.privacy.mechanisms.contract` says what every mechanism offers,
:mod:`~neuroveil.privacy.mechanisms.additive` holds what mechanisms share that add noise to
each entry (:mod:`~neuroveil.privacy.mechanisms.gaussian`,
:mod:`~neuroveil.privacy.mechanisms.laplace`), and
:mod:`~neuroveil.privacy.mechanisms.registry` makes one from its public specification.
"""
