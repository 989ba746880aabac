"""What surrounds the mechanism: composition, model, postprocessing, utility and software."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from neuroveil.privacy.verify.arithmetic import pi, precise, to_decimal
from neuroveil.privacy.verify.document import canonical_digest
from neuroveil.privacy.verify.findings import broken, finding, holds, is_close, missing, quote, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement

_BASIC = "basic composition, Dwork & Roth 2014, Theorem 3.16"


def check_composition(statement: Statement) -> Iterator[Check]:
    """Check that the releases about the same patients stay within a limit.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Number of earlier releases, and the arithmetic of the budget.
    """
    prior = statement.integer("composition.prior_releases")
    spent = [statement.number("composition.spent_before", key) for key in ("epsilon", "delta")]
    limit = [statement.number("composition.limit", key) for key in ("epsilon", "delta")]
    if prior is None and None in spent:
        yield missing("composition.prior_releases", "whether these patients were released before")
    elif prior is not None and None not in spent and (prior == 0) != (spent == [0, 0]):
        yield broken(
            "composition.prior_releases",
            "The number of earlier releases and what they spent contradict each other.",
            stated=prior,
        )  # fmt: skip
    elif prior == 0 or None not in spent:
        words = (
            "Nothing was released about these patients before."
            if spent == [0, 0] or prior == 0
            else "What was released about these patients before is counted."
        )
        yield holds("composition.prior_releases", words, stated=prior)
    else:
        yield missing("composition.prior_releases", "what the earlier releases spent")
    if statement.is_claim and None in limit:
        return
    for key, total, before in zip(("epsilon", "delta"), limit, spent, strict=True):
        yield _check_remaining(statement, key, total, before)


def _check_remaining(
    statement: Statement, key: str, limit: Fraction | None, before: Fraction | None
) -> Check:
    name, this = f"composition.remaining.{key}", statement.number(f"guarantee.{key}")
    before = Fraction(0) if before is None and statement.is_claim else before
    if limit is None or before is None or this is None:
        return missing(name, "limit, spent_before or guarantee")
    right, stated = limit - before - this, statement.number("composition.remaining", key)
    rounding = Fraction(1, 10**12) * max(limit, before, this)
    details = {"stated": stated, "recomputed": right, "source": _BASIC}
    if before < 0 or limit < 0 or right < -rounding:
        return broken(
            name, f"This release and those before it spend more {key} than the limit allows.",
            **details,
        )  # fmt: skip
    if stated is None and statement.is_claim:
        return holds(name, f"There is room for this release: {key} {show(right)}.", **details)
    if stated is None or stated < -rounding or abs(stated - right) > rounding:
        return broken(name, f"What remains of {key} is {show(right)}.", **details)
    return holds(name, f"{show(right)} of the limit for {key} remains.", **details)


def check_model(statement: Statement) -> Iterator[Check]:
    """Check whom one has to trust.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        Trust model and batch, where they are stated.
    """
    trust, batch = statement.text("model.trust"), statement.integer("model.batch")
    if trust in {"local", "central"}:
        yield holds("model.trust", "Every row carries its own noise.", stated=trust)
    elif trust is not None:
        yield finding(
            "unchecked", "model.trust",
            f"What the model {quote(trust)} adds to the guarantee is not derived here.",
            stated=quote(trust),
        )  # fmt: skip
    n = statement.integer("adjacency.n_roster")
    n = statement.integer("domain.n") if n is None else n
    if batch is not None and n is not None:
        yield finding(
            "holds" if batch == n else "broken", "model.batch",
            f"{n} rows are released together.", stated=batch, recomputed=n,
        )  # fmt: skip


def check_postprocessing(statement: Statement) -> Iterator[Check]:
    """Check that what follows the noise uses public inputs only.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        The steps.
    """
    name, steps = "postprocessing.steps", statement.listing("postprocessing.steps")
    if steps is None:
        yield missing(name)
    elif all(isinstance(step, Mapping) and step.get("public_inputs_digest") for step in steps):
        yield holds(
            name, f"{len(steps)} step(s) follow the noise, on public inputs only.",
            source="post-processing, Dwork & Roth 2014, Proposition 2.1",
        )  # fmt: skip
    else:
        yield finding("unchecked", name, "A step does not name its public inputs.")


def check_utility(statement: Statement) -> Iterator[Check]:
    """Recompute the predicted errors.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        One for each figure that is stated.
    """
    figures = predicted_figures(statement)
    if figures is None:
        if not statement.is_claim:
            yield missing("utility.predicted", "mechanism, bound and dimension")
        return
    for key, right in figures.items():
        stated = statement.number("utility.predicted", key)
        if stated is None:
            continue
        agrees = is_close(stated, right, 1e-9) or abs(to_decimal(stated) - right) < Decimal("1e-12")
        yield finding(
            "holds" if agrees else "broken", f"utility.{key}",
            f"The predicted {key.replace('_', ' ')} is {show(right)}"
            + ("." if agrees else f", not {show(stated)}."),
            stated=stated, recomputed=right, source="closed form, see the page on certificates",
        )  # fmt: skip


def predicted_figures(statement: Statement) -> dict[str, Decimal] | None:
    """Errors that follow from the noise for rows of norm C whose cells average to zero.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Returns
    -------
    dict of str to Decimal or None
        ``rmse``, ``mae`` (scaled units), ``correlation``, ``snr_db`` and
        ``mse_over_clip_norm_squared``; ``None`` where they do not follow from what is stated.
    """
    name, scale = statement.text("mechanism.name"), statement.number("mechanism.noise_scale")
    clip_norm, d = statement.number("bound.clip_norm"), statement.integer("domain.dimension")
    if name is None or scale is None or clip_norm is None or d is None:
        return None
    if scale <= 0 or clip_norm <= 0 or d < 1:
        return None
    with precise():
        noise, clip = to_decimal(scale), to_decimal(clip_norm)
        gaussian = name == "gaussian"
        variance = noise * noise * (1 if gaussian else 2)
        signal = clip * clip / d
        return {
            "rmse": variance.sqrt(),
            "mae": noise * (2 / pi()).sqrt() if gaussian else noise,
            "correlation": (signal / (signal + variance)).sqrt(),
            "snr_db": 10 * (signal / variance).log10(),
            "mse_over_clip_norm_squared": variance * d / (clip * clip),
        }


def check_software(statement: Statement) -> Iterator[Check]:
    """Recompute the digest of the version list.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        The digest, where it is stated.
    """
    name, versions = "software.lock_digest", statement.raw("software.versions")
    stated = statement.text(name)
    if not isinstance(versions, Mapping) or stated is None or statement.is_claim:
        return
    right = canonical_digest(versions)
    yield finding(
        "holds" if stated == right else "broken", name,
        "The digest belongs to the list of versions."
        if stated == right
        else "The digest does not belong to the list of versions.",
        stated=quote(stated), recomputed=right,
    )  # fmt: skip
