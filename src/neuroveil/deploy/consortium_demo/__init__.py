"""Three hospitals and a trusted server on one machine, as separate processes, for a look.

``place`` makes folders, keys and the server; ``line`` is a connection that breaks; ``story``
lets everybody act, each step a command that a hospital would type.
"""

from neuroveil.deploy.consortium_demo.story import ConsortiumResult, run_consortium_demo

__all__ = ["ConsortiumResult", "run_consortium_demo"]
