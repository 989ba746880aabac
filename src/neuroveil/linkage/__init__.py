"""Find the same patient in two hospitals without giving anyone away.

:mod:`~neuroveil.linkage.text`, :mod:`~neuroveil.linkage.identifiers`,
:mod:`~neuroveil.linkage.names` and :mod:`~neuroveil.linkage.dates` bring what hospitals write
down into one canonical form, which is the same wherever it was written.
"""
