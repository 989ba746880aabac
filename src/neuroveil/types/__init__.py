"""Frozen objects that cross rooms.

Each module has one object family: :mod:`~neuroveil.types.catalogue` (what is measured),
:mod:`~neuroveil.types.recording` (signals), :mod:`~neuroveil.types.table` (the private
feature table), :mod:`~neuroveil.types.scaling` (public constants),
:mod:`~neuroveil.types.budget` (what a budget is made of),
:mod:`~neuroveil.types.charge` (spent budget), :mod:`~neuroveil.types.utility` and
:mod:`~neuroveil.types.audit` (internal results), :mod:`~neuroveil.types.reproduction` (the
paper's numbers beside ours), :mod:`~neuroveil.types.certificate` (the chain) and
:mod:`~neuroveil.types.release` (what may be published).
"""
