"""One line of the contract's table as data, and the cases in which it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuroveil.privacy.verify import shapes
from neuroveil.privacy.verify.shapes import Shape
from neuroveil.privacy.verify.statement import Statement

PROJECTED = "preprocessing.projection"
"""The fact whose being null or not decides whether rows are projected."""

FITTED = "preprocessing.scaling"
"""The fact that says whether scaling constants were drawn under a budget."""

Condition = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Case:
    """When a line counts: in one of several conditions, each a set of facts with values.

    Parameters
    ----------
    conditions : tuple of mapping
        Allowed words by the dotted name of a fact; all of them in one condition, any
        condition in the case. Under :data:`PROJECTED` stands ``"yes"`` or ``"no"``, and under
        :data:`FITTED` ``"dp"`` or ``"other"``.
    """

    conditions: tuple[Condition, ...] = ({},)

    def applies(self, statement: Statement) -> bool:
        """Whether this is the case of a statement.

        Parameters
        ----------
        statement : Statement
            The stated facts.

        Returns
        -------
        bool
            True where one of the conditions holds.
        """
        return any(
            all(_word(statement, name) in allowed for name, allowed in condition.items())
            for condition in self.conditions
        )


def _word(statement: Statement, name: str) -> str | None:
    if name == PROJECTED:
        return "no" if statement.raw(name) is None else "yes"
    if name == FITTED:
        return "dp" if statement.text(name, "fitted_on") == "dp" else "other"
    return statement.text(name)


def when(**allowed: str | tuple[str, ...]) -> Case:
    """Make a case of one condition.

    Parameters
    ----------
    **allowed : str or tuple of str
        Allowed words by ``mechanism``, ``trust``, ``norm``, ``projected``, ``fitted``,
        ``bound`` or ``rule``.

    Returns
    -------
    Case
        All of them together.
    """
    names = {
        "mechanism": "mechanism.name", "trust": "model.trust", "norm": "bound.norm",
        "projected": PROJECTED, "fitted": FITTED, "bound": "amplification.bound",
        "rule": "composition.rule",
    }  # fmt: skip
    return Case(({names[key]: (v,) if isinstance(v, str) else v for key, v in allowed.items()},))


def either(*cases: Case) -> Case:
    """Make a case of several.

    Parameters
    ----------
    *cases : Case
        The cases.

    Returns
    -------
    Case
        Any of them.
    """
    return Case(tuple(condition for case in cases for condition in case.conditions))


def also(case: Case, **allowed: str | tuple[str, ...]) -> Case:
    """Narrow a case down.

    Parameters
    ----------
    case : Case
        The wider one.
    **allowed : str or tuple of str
        What has to hold too, as in :func:`when`; about facts that the case says nothing of.

    Returns
    -------
    Case
        Both together.
    """
    more = when(**allowed).conditions[0]
    return Case(tuple({**condition, **more} for condition in case.conditions))


ALWAYS = Case()
ROWS = ("gaussian", "laplace", "paper_laplace", "privunit")
"""Mechanisms that randomise rows one by one."""

ADDITIVE = when(mechanism=("gaussian", "laplace", "paper_laplace"))
GAUSSIAN = when(mechanism="gaussian")
BOTH_LAPLACE = when(mechanism=("laplace", "paper_laplace"))
PRIVUNIT = when(mechanism="privunit")
LOCAL, SHUFFLED = (when(trust=word) for word in ("local", "shuffled"))
CENTRAL_ROWS = when(trust="central", mechanism=ROWS)


@dataclass(frozen=True)
class Rule:
    """What one fact has to be, in one case.

    Parameters
    ----------
    name : str
        Dotted name.
    shape : Shape
        What its value may look like.
    status : {"proven", "measured", "assumed"}
        Its status.
    formula : str or None
        The formula, letter by letter.
    rests_on : tuple of str
        Dotted names of the facts that it follows from, in order.
    case : Case
        When the line counts.
    """

    name: str
    shape: Shape
    status: str
    formula: str | None = None
    rests_on: tuple[str, ...] = ()
    case: Case = ALWAYS

    @property
    def link(self) -> str:
        """The link that the fact belongs to."""
        return self.name.partition(".")[0]


def assumed(name: str, shape: Shape, *rests_on: str, case: Case = ALWAYS) -> Rule:
    """Make a line for something that is taken on trust.

    Parameters
    ----------
    name : str
        Dotted name.
    shape : Shape
        What its value may look like.
    *rests_on : str
        Dotted names of the facts that it is about.
    case : Case
        When the line counts.

    Returns
    -------
    Rule
        The line.
    """
    return Rule(name, shape, "assumed", None, rests_on, case)


def delta_slack_lines(
    first: str, second: str, rests_on: tuple[str, ...], case: Case
) -> tuple[Rule, ...]:
    """Make the lines of what integer noise costs, by the first and by the second proof.

    Parameters
    ----------
    first : str
        Formula of the first proof.
    second : str
        That of the second, with ``{0}`` for delta of the rows.
    rests_on : tuple of str
        What both rest on; the second also on that delta.
    case : Case
        When they count.

    Returns
    -------
    tuple of Rule
        Two for the whole delta, and two for what scaling leaves of it.
    """
    name, shape = "guarantee.delta_slack", shapes.number(0, 0.5)
    found: list[Rule] = []
    for delta, fitted in (("guarantee.delta", "other"), ("guarantee.delta_rows", "dp")):
        narrow = also(case, fitted=fitted)
        found += [
            proven(name, shape, first, *rests_on, case=narrow),
            proven(name, shape, second.format(delta), *rests_on, delta, case=narrow),
        ]
    return tuple(found)


def measured(
    name: str, shape: Shape, formula: str | None = None, *rests_on: str, case: Case = ALWAYS
) -> Rule:
    """Make a line for something that was read off the run.

    Parameters
    ----------
    name : str
        Dotted name.
    shape : Shape
        What its value may look like.
    formula : str, optional
        What was looked at.
    *rests_on : str
        Dotted names of the facts that it rests on.
    case : Case
        When the line counts.

    Returns
    -------
    Rule
        The line.
    """
    return Rule(name, shape, "measured", formula, rests_on, case)


def proven(name: str, shape: Shape, formula: str, *rests_on: str, case: Case = ALWAYS) -> Rule:
    """Make a line for something that follows.

    Parameters
    ----------
    name : str
        Dotted name.
    shape : Shape
        What its value may look like.
    formula : str
        How it follows, letter by letter.
    *rests_on : str
        Dotted names of the facts that it follows from, in order.
    case : Case
        When the line counts.

    Returns
    -------
    Rule
        The line.
    """
    return Rule(name, shape, "proven", formula, rests_on, case)
