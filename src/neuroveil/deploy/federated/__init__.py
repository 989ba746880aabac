"""Hospitals that train one model together; recordings, features and rows stay where they are.

Read it in this order: :mod:`~neuroveil.deploy.federated.plan` (what was agreed),
:mod:`~neuroveil.deploy.federated.noise` (what protects it),
:mod:`~neuroveil.deploy.federated.hospital` (what a hospital gives and counts),
:mod:`~neuroveil.deploy.federated.client` (what a hospital answers),
:mod:`~neuroveil.deploy.federated.secure` (sums that nobody sees the parts of),
:mod:`~neuroveil.deploy.federated.strategy` (what a coordinator refuses) and
:mod:`~neuroveil.deploy.federated.server` (the rounds).

The engine is Flower: its transport, scheduling, node keys, masks and simulation. It comes with the
extra ``federated``, models with the extra ``torch``; both are loaded where they are used.
"""
