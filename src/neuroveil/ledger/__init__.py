"""The durable privacy-budget ledger.

A spend is written, hashed onto the one before and flushed to disk before any noise is
drawn. A crash in between leaves it spent. Only the ledger can make the charge that
:func:`neuroveil.privacy.protect` asks for.
"""

from neuroveil.ledger.ledger import Ledger, Terms
from neuroveil.ledger.state import LedgerState

__all__ = ["Ledger", "LedgerState", "Terms"]
