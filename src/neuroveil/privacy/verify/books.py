"""What surrounds the mechanism: model, utility and software."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from neuroveil.privacy.verify.arithmetic import pi, precise, to_decimal
from neuroveil.privacy.verify.basis import is_drawn, row_dimension
from neuroveil.privacy.verify.codebook import moments
from neuroveil.privacy.verify.document import canonical_digest
from neuroveil.privacy.verify.findings import finding, is_close, missing, quote, show
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement


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
    if trust is not None:
        yield _check_trust(statement, trust)
    n = statement.integer("adjacency.n_roster")
    n = statement.integer("domain.n") if n is None else n
    if batch is not None and n is not None:
        yield finding(
            "holds" if batch == n else "broken", "model.batch",
            f"{n} rows are released together.", stated=batch, recomputed=n,
        )  # fmt: skip


def _check_trust(statement: Statement, trust: str) -> Check:
    """Rows are randomised one by one, and statistics where all rows are seen."""
    name, aggregates = "model.trust", statement.text("mechanism.name") == "mean_covariance"
    sees_all = aggregates or is_drawn(statement)
    words = {
        "local": "Every row carries its own noise.",
        "shuffled": "Rows that carry their own noise are shuffled; whoever shuffles is trusted.",
        "central": "Somebody sees all rows and is trusted; what leaves carries the noise.",
    }
    if trust not in words:
        sentence = f"What the model {quote(trust)} adds to the guarantee is not derived here."
        return finding("unchecked", name, sentence, stated=quote(trust))
    fits = sees_all == (trust == "central") or (statement.is_claim and not sees_all)
    return finding(
        "holds" if fits else "broken", name,
        words[trust]
        if fits
        else "The trust model is not that of the release: statistics of all patients, scaling "
        "constants among them, need somebody who sees all rows, and rows that are randomised one "
        "by one do not.",
        stated=trust,
    )  # fmt: skip


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
    # Moments of codewords are exact to a billionth, and their errors grow a little.
    is_book = statement.text("mechanism.name") == "privunit"
    width, nothing = (1e-8, Decimal("1e-8")) if is_book else (1e-9, Decimal("1e-12"))
    for key, right in figures.items():
        stated = statement.number("utility.predicted", key)
        if stated is None:
            continue
        agrees = is_close(stated, right, width) or abs(to_decimal(stated) - right) < nothing
        yield finding(
            "holds" if agrees else "broken", f"utility.{key}",
            f"The predicted {key.replace('_', ' ')} is {show(right)}"
            + ("." if agrees else f", not {show(stated)}."),
            stated=stated, recomputed=right, source="closed form, see the page on certificates",
        )  # fmt: skip
    yield from _check_estimate(statement)


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
    clip_norm, d = statement.number("bound.clip_norm"), row_dimension(statement)
    if name is None or clip_norm is None or d is None or clip_norm <= 0:
        return None
    if name == "privunit":
        return _figures_of_codewords(statement, clip_norm, d)
    if scale is None or scale <= 0:
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


def _figures_of_codewords(
    statement: Statement, clip_norm: Fraction, d: int
) -> dict[str, Decimal] | None:
    """The same from the first two moments of a released codeword."""
    found = moments(statement)
    if found is None or found.first <= 0:
        return None
    with precise():
        first, second = Decimal(found.first), Decimal(found.second)
        released = 1 - (1 - second) / d
        mse = released / first**2 - 1
        if mse <= 0 or released <= 0:
            return None
        rmse = to_decimal(clip_norm) * (mse / d).sqrt()
        return {
            "rmse": rmse,
            "mae": (2 / pi()).sqrt() * rmse,
            "correlation": min(first / released.sqrt(), Decimal(1)),
            "snr_db": -10 * mse.log10(),
            "mse_over_clip_norm_squared": mse,
        }


def _check_estimate(statement: Statement) -> Iterator[Check]:
    """A correlation of the estimate is stated exactly where a step uses the covariance."""
    name, stated = "utility.estimate", statement.raw("utility.estimate")
    uses = any(entry.get("step") == "wiener" for entry in statement.entries("postprocessing.steps"))
    if statement.is_claim:
        return
    agrees = (stated is not None) == uses
    yield finding(
        "holds" if agrees else "broken", name,
        "A correlation of the estimated table is stated where a step uses the public covariance."
        if agrees
        else "A correlation of the estimated table belongs to a step that uses the public "
        "covariance, and only to such a step.",
    )  # fmt: skip


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
