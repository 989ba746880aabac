"""The planner: what each way of sharing would leave, before any private value is touched.

It works from the number of patients, the columns, epsilon, delta, the clipping norm, the trust
model and the public reference alone.

:mod:`~neuroveil.evaluate.planning.question` holds these public numbers,
:mod:`~neuroveil.evaluate.planning.options` lists the releases that a trust model allows,
:mod:`~neuroveil.evaluate.planning.forecast` predicts what one of them leaves,
:mod:`~neuroveil.evaluate.planning.price`, :mod:`~neuroveil.evaluate.planning.needs` and
:mod:`~neuroveil.evaluate.planning.drops` say what columns cost, what a wanted correlation needs and
what could be left out, :mod:`~neuroveil.evaluate.planning.coverage` where the public reference
says nothing, and :mod:`~neuroveil.evaluate.planning.entry` puts them together.
"""

from neuroveil.evaluate.planning.entry import plan_release
from neuroveil.evaluate.planning.question import PlanQuestion

__all__ = ["PlanQuestion", "plan_release"]
