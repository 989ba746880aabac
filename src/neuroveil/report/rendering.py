"""Templates to text, with everything from elsewhere escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_CODE = re.compile(r"`([^`]*)`")
_SVG_PARTS = ("signal_chart", "feature_chart", "channel_chart", "band_chart")


def render(template: str, parts: dict[str, Any]) -> str:
    """Fill a template of the report.

    Parameters
    ----------
    template : str
        File name in ``report/templates``.
    parts : dict
        Values by name. All are escaped, except the charts that this room has drawn itself.

    Returns
    -------
    str
        HTML.
    """
    from markupsafe import Markup

    drawn = {name: Markup(parts[name]) for name in _SVG_PARTS if parts.get(name)}
    return _environment().get_template(template).render({**parts, **drawn})


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("neuroveil.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = _code
    environment.filters["figure"] = _figure
    return environment


def _code(text: str) -> Markup:
    """Escape a sentence and set what stands in backticks as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def _figure(value: float) -> str:
    """A measured figure with as many digits as mean something."""
    size = abs(value)
    digits = 1 if size >= 20 else 2 if size >= 1 else 3
    return f"{round(value, digits) + 0.0:.{digits}f}"  # and never a zero with a sign
