"""Who is protected, from what: the links unit, adjacency, domain and preprocessing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from neuroveil.privacy.verify.arithmetic import smallest_epsilon, square_root, to_decimal
from neuroveil.privacy.verify.basis import FACTORS, squared_sensitivity
from neuroveil.privacy.verify.document import canonical_digest
from neuroveil.privacy.verify.findings import broken, finding, holds, missing, quote, show
from neuroveil.privacy.verify.quantiles import check_quantiles
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.rule import FITTED
from neuroveil.privacy.verify.shapes import has_words, is_digest
from neuroveil.privacy.verify.statement import Statement, as_number

_PROJECTION = "preprocessing.projection"
_PROJECTION_PARAMS = {
    "kind", "reference", "rule", "components", "variance_share", "basis_digest",
}  # fmt: skip
_NIST = "NIST SP 800-226, unit of privacy"
_WORDS = {
    "preprocessing.features": "features",
    "preprocessing.scaling": "scaling constants",
    "preprocessing.projection": "components that rows are projected on",
}


def check_unit(statement: Statement) -> Iterator[Check]:
    """Check whom one unit of the guarantee stands for.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Entity and rows a unit.
    """
    entity, rows = statement.text("unit.entity"), statement.integer("unit.rows_per_unit_max")
    if entity is None:
        yield missing("unit.entity")
    elif entity == "patient":
        yield holds("unit.entity", "The guarantee is for whole patients.", source=_NIST)
    else:
        yield broken(
            "unit.entity",
            f"The guarantee is for {quote(entity)}, not for a patient: a person with several "
            "of them is protected less than stated.",
            stated=entity, recomputed="patient", source=_NIST,
        )  # fmt: skip
    name = "unit.rows_per_unit_max"
    if rows is None:
        yield missing(name)
    elif rows < 1:
        yield broken(name, "A patient has at least one row.", stated=rows, recomputed=1)
    else:
        yield holds(name, f"A patient has at most {rows} row(s) in the table.", stated=rows)


def check_adjacency(statement: Statement) -> Iterator[Check]:
    """Check the neighbouring relation and its factor.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Relation and factor.
    """
    relation = statement.text("adjacency.relation")
    source = "Dwork & Roth 2014; definition of neighbouring tables"
    if relation is None:
        yield missing("adjacency.relation")
    elif relation == "replace_one":
        yield holds(
            "adjacency.relation",
            "Neighbouring tables have the same number of rows and differ in one patient.",
            stated=relation, source=source,
        )  # fmt: skip
    elif relation == "add_or_remove_one":
        yield broken(
            "adjacency.relation",
            "A table with one row a patient shows how many patients there are; adding or "
            "removing one changes that number, so this relation does not fit the release. "
            "Replacing one patient moves the table twice as far.",
            stated=relation, recomputed="replace_one", source=source,
        )  # fmt: skip
    else:
        yield finding(
            "unchecked", "adjacency.relation",
            f"The relation {quote(relation)} is not one that can be checked.", stated=relation,
        )  # fmt: skip
    factor, right = statement.number("adjacency.factor"), FACTORS.get(relation or "")
    if factor is not None and right is not None:
        agrees = factor == right
        yield finding(
            "holds" if agrees else "broken", "adjacency.factor",
            f"Two neighbouring tables can be {right} clip norm(s) apart"
            + ("." if agrees else f", not {show(factor)}: the factor of the relation is left out."),
            stated=factor, recomputed=right, source=source,
        )  # fmt: skip


def check_domain(statement: Statement) -> Iterator[Check]:
    """Check the size of the table and what stands beside it.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Dimension, number of rows, and columns outside the guarantee.
    """
    dimension = statement.integer("domain.dimension")
    if dimension is None:
        yield missing("domain.dimension")
    else:
        yield holds("domain.dimension", f"Each row has {dimension} columns.", stated=dimension)
    n, roster = statement.integer("domain.n"), statement.integer("adjacency.n_roster")
    if n is not None and roster is not None:
        agrees = n == roster
        yield finding(
            "holds" if agrees else "broken", "domain.n",
            "There is one row for each patient on the roster."
            if agrees
            else "The table has another number of rows than the roster has patients, so the "
            "number of rows depends on private data.",
            stated=n, recomputed=roster,
        )  # fmt: skip
    labels, unprotected = (
        statement.listing("domain.labels"),
        statement.listing("domain.unprotected"),
    )
    if labels is None or unprotected is None:
        yield missing("domain.unprotected", "what stands beside the rows (labels, unprotected)")
    elif set(map(str, unprotected)) & {
        str(entry.get("name")) for entry in statement.entries("domain.labels")
    }:
        yield broken("domain.unprotected", "A label is listed as protected and as unprotected.")
    else:
        yield holds(
            "domain.unprotected",
            f"{len(unprotected)} label column(s) are released outside the guarantee."
            if unprotected
            else "No column is released outside the guarantee.",
        )


def check_preprocessing(statement: Statement) -> Iterator[Check]:
    """Check what every step before the noise was fitted on.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Features, scaling and projection.
    """
    for name in _WORDS:
        if name == _PROJECTION and statement.raw(name) is None:
            continue
        yield from _check_fit(statement, name)
        params = statement.raw(name, "params")
        digest = statement.text(name, "params_digest")
        if not statement.is_claim and isinstance(params, Mapping) and digest is not None:
            right = canonical_digest(params)
            yield finding(
                "holds" if digest == right else "broken", f"{name}.params_digest",
                "The digest belongs to the stated settings."
                if digest == right
                else "The digest does not belong to the stated settings.",
                stated=digest, recomputed=right,
            )  # fmt: skip
    yield from _check_constants(statement)
    yield from _check_projection(statement)


def _check_projection(statement: Statement) -> Iterator[Check]:
    """A public basis of public components, from the reference that scales the rows."""
    params, d = statement.raw(_PROJECTION, "params"), statement.integer("domain.dimension")
    if statement.is_claim or statement.raw(_PROJECTION) is None:
        return
    params = params if isinstance(params, Mapping) else {}
    components, share = as_number(params.get("components")), as_number(params.get("variance_share"))
    agrees = (
        set(params) == _PROJECTION_PARAMS
        and params["kind"] == "public_pca"
        and has_words(params["rule"])
        and params["reference"] == statement.text("preprocessing.scaling", "params", "reference")
        and statement.text("preprocessing.scaling", "fitted_on") == "public"
        and isinstance(params["components"], int)
        and components is not None and d is not None and 1 <= components <= d
        and share is not None and 0 < share <= 1 + Fraction(1, 10**9)
        and is_digest(params["basis_digest"])
    )  # fmt: skip
    yield finding(
        "holds" if agrees else "broken", "preprocessing.projection.params",
        "Rows are projected on components of the public reference."
        if agrees
        else "The settings of the projection are not those of components of the public reference.",
    )  # fmt: skip


def _check_constants(statement: Statement) -> Iterator[Check]:
    """Public constants are named by their digest; private ones never are."""
    params = statement.raw("preprocessing.scaling", "params")
    fitted_on = statement.text("preprocessing.scaling", "fitted_on")
    if statement.is_claim or not isinstance(params, Mapping) or fitted_on is None:
        return
    published, name = fitted_on != "private", "preprocessing.scaling.constants_digest"
    agrees = (
        isinstance(params.get("reference"), str) and is_digest(params.get("constants_digest"))
        if published
        else "constants_digest" not in params
    )
    if published:
        words = "Constants that are published are given with their name and digest."
    else:
        words = "A digest of private constants must not be published."
    yield finding("holds" if agrees else "broken", name, words)


def _check_fit(statement: Statement, name: str) -> Iterator[Check]:
    fitted_on = statement.text(name, "fitted_on")
    budget = statement.number(name, "epsilon")
    what = _WORDS[name]
    source = "Dwork & Roth 2014, Section 2.3: a function of private data is a release of its own"
    if fitted_on is None:
        yield missing(name, f"{name}.fitted_on")
    elif fitted_on == "public":
        yield holds(name, f"The {what} use no statistic of the private cohort.", source=source)
    elif fitted_on == "dp" and name == FITTED and not statement.is_claim:
        yield from check_quantiles(statement)
    elif fitted_on != "private" or budget is None or budget > 0:
        yield finding(
            "unchecked", name,
            f"The {what} are fitted on {quote(fitted_on)} data; whether a budget of its own "
            "covers that cannot be derived from what is stated.", source=source,
        )  # fmt: skip
    else:
        yield broken(
            name,
            f"The {what} were fitted on the private cohort without a budget, so every row "
            "depends on every patient and nothing holds end to end." + _what_can_happen(statement),
            stated="private", recomputed="public", source=source,
        )  # fmt: skip


def _what_can_happen(statement: Statement) -> str:
    """How far median and interquartile range let one patient move the table, in words."""
    n = statement.integer("domain.n") or statement.integer("adjacency.n_roster")
    clip_norm, claimed = statement.number("bound.clip_norm"), squared_sensitivity(statement, "l2")
    if n is None or n < 1 or clip_norm is None or claimed is None or clip_norm <= 0:
        return ""
    if statement.text("bound.norm") != "l2":
        return ""
    moved = square_root(clip_norm**2 * 2 * (n + 1))
    words = (
        f" With median and interquartile range of {n} patients, replacing one can move the "
        f"table by C*sqrt(2(n+1)) = {show(moved, 4)} in L2 where {show(square_root(claimed), 4)} "
        "was claimed"
    )
    supported = _supported_epsilon(statement, moved)
    return f"{words}{supported}."


def _supported_epsilon(statement: Statement, moved: Decimal) -> str:
    sigma, delta = statement.number("mechanism.noise_scale"), statement.number("guarantee.delta")
    if statement.text("mechanism.name") != "gaussian" or sigma is None or delta is None:
        return ""
    if sigma <= 0 or not Fraction(0) < delta < 1:
        return ""
    epsilon = smallest_epsilon(to_decimal(delta), to_decimal(sigma), moved)
    stated = statement.number("guarantee.epsilon")
    instead = f" instead of {show(stated)}" if stated is not None else ""
    return f"; the stated noise then gives epsilon = {show(epsilon, 3)}{instead}"
