"""Attacks: on the mechanism behind a release, and on released tables.

An attack that fails proves nothing by itself. So every figure of this room comes with its
number of trials, its interval, a null control that ran beside it and the smallest effect that
the run could have seen. All results are internal.

:mod:`~neuroveil.audit.subject` says what can be audited, and
:mod:`~neuroveil.audit.mechanism` attacks the mechanism behind a claim.
"""
