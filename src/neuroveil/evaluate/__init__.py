"""What is left in a release: intrinsic utility over simulated draws of noise.

Everything in this room touches private rows. Its results are marked internal and are never
published.

:mod:`~neuroveil.evaluate.metrics` holds the figures of one draw on plain arrays,
:mod:`~neuroveil.evaluate.draws` makes one draw,
:mod:`~neuroveil.evaluate.intervals` turns draws into means with intervals,
:mod:`~neuroveil.evaluate.tally` collects draws, and
:mod:`~neuroveil.evaluate.intrinsic` is the entry.
"""

from neuroveil.evaluate.intrinsic import intrinsic_utility

__all__ = ["intrinsic_utility"]
