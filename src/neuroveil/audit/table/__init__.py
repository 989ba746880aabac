"""Attacks on a released table: what somebody learns who tries.

:mod:`~neuroveil.audit.table.frame` holds what an audit looks at,
:mod:`~neuroveil.audit.table.channels` knows how likely a released row is given the row behind
it, :mod:`~neuroveil.audit.table.rates` turns scores into figures with intervals, and each attack
has a module of its own: :mod:`~neuroveil.audit.table.membership`,
:mod:`~neuroveil.audit.table.linkage`, :mod:`~neuroveil.audit.table.reconstruction`,
:mod:`~neuroveil.audit.table.attributes`, :mod:`~neuroveil.audit.table.singling_out` and, for
trained models, :mod:`~neuroveil.audit.table.trained_models`.

Only what a release holds is scored. Where an attack needs to know whose row is whose, it draws
anew from the same public mechanism inside the hospital; such a draw is never written anywhere.
"""
