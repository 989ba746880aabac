"""Statement and HTML pages: what was promised, what it rests on, what is left.

:func:`~neuroveil.report.statement.statement` writes ``STATEMENT.md``;
:mod:`~neuroveil.report.pages` draws the public, the internal and the rehearsal page. The
public ones are given a certificate and column names and nothing else, so that they cannot
show anything private.
"""

from neuroveil.report.pages import internal_report, public_report, rehearsal_report
from neuroveil.report.statement import statement

__all__ = ["internal_report", "public_report", "rehearsal_report", "statement"]
