"""Whether noise repeats: the same seed twice, seeds by row or counted up, lagged streams.

:mod:`~neuroveil.audit.randomness.streams` collects noise in the order in which it was drawn,
:mod:`~neuroveil.audit.randomness.repeats` finds values that come twice, and
:mod:`~neuroveil.audit.randomness.correlation` finds streams that follow each other.
"""

from neuroveil.audit.randomness.attack import audit_randomness

__all__ = ["audit_randomness"]
