"""Which ways of sharing are compared, each at the same guarantee, from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.evaluate.downstream.central_way import CentralWay, central_components
from neuroveil.evaluate.downstream.ways import RowWay, Way, label_epsilon
from neuroveil.privacy.amplification.clones import clones_delta
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.plan import row_mechanism
from neuroveil.privacy.settings import Postprocessing, ProtectSettings
from neuroveil.types.scaling import Scaling
from neuroveil.types.sharing import WayFacts

WAY_KEYS: tuple[str, ...] = (
    "unprotected", "paper_gaussian", "study", "rows", "rows_and_labels", "shuffled",
    "private_training", "private_moments", "synthetic_table",
)  # fmt: skip
"""Ways of sharing, in the order in which they are shown."""

_LEAST_GAIN = 1.05
_BISECTIONS = 24
_LARGEST_LOCAL_EPSILON = 20.0
_BARE = Postprocessing("none", inverse_scaling=False)


@dataclass(frozen=True)
class Promise:
    """The guarantee that every protected way is held to. Public.

    Parameters
    ----------
    epsilon, delta : float
        For one patient under replace-one; ``delta`` above 0.
    clip_norm : float
        Largest norm of a scaled row (no unit).
    n_patients : int
        Roster size.
    """

    epsilon: float
    delta: float
    clip_norm: float
    n_patients: int


def list_ways(
    promise: Promise,
    scaling: Scaling,
    keys: tuple[str, ...],
    own: ProtectSettings | None = None,
) -> tuple[Way, ...]:
    """List ways of sharing at one guarantee.

    Parameters
    ----------
    promise : Promise
        The guarantee.
    scaling : Scaling
        Constants of the columns.
    keys : tuple of str
        Which of :data:`WAY_KEYS` are wanted.
    own : ProtectSettings, optional
        What a study itself promises, for the way ``"study"``: rows in the local model.

    Returns
    -------
    tuple of RowWay or CentralWay
        In the order of :data:`WAY_KEYS`; without the shuffled one where so few rows are shuffled
        that it says no more than rows alone.

    Raises
    ------
    ChainError
        If a mechanism cannot be calibrated.
    """
    makers = {
        "unprotected": _unprotected, "paper_gaussian": _paper_gaussian, "rows": _rows,
        "rows_and_labels": _rows_and_labels, "shuffled": _shuffled,
    }  # fmt: skip
    found: list[Way | None] = []
    for key in WAY_KEYS:
        if key == "study":
            found.append(_study(own, promise, scaling) if own and key in keys else None)
        elif key in keys:
            maker = makers.get(key)
            found.append(maker(promise, scaling) if maker else _central(key, promise, scaling))
    return tuple(way for way in found if way is not None)


def _unprotected(promise: Promise, scaling: Scaling) -> RowWay:
    return RowWay(WayFacts(
        "unprotected", "the unprotected table", "Scaled rows and labels as they are.",
        "everybody", None, None, False,
    ))  # fmt: skip


def _paper_gaussian(promise: Promise, scaling: Scaling) -> RowWay:
    settings = ProtectSettings(
        "gaussian", promise.epsilon, promise.delta, promise.clip_norm, postprocessing=_BARE
    )
    facts = WayFacts(
        "paper_gaussian", "rows with the paper's Gaussian noise",
        "Analytic Gaussian noise on every clipped row; labels as they are.",
        "nobody", promise.epsilon, promise.delta, False,
    )  # fmt: skip
    return RowWay(facts, settings)


def _study(own: ProtectSettings, promise: Promise, scaling: Scaling) -> RowWay:
    mechanism, _ = row_mechanism(own, len(scaling.columns), promise.n_patients)
    supported = mechanism.guarantee.epsilon_supported
    words = f"{own.mechanism.capitalize()} with the study's own settings; labels as they are."
    if not mechanism.guarantee.holds:
        words += f" Its noise supports ε = {supported:.4g} instead of {own.epsilon:g}."
    facts = WayFacts(
        "study", "rows as the study releases them", words, "nobody",
        own.epsilon if mechanism.guarantee.holds else supported, own.delta, False,
    )  # fmt: skip
    return RowWay(facts, own)


def _rows(promise: Promise, scaling: Scaling) -> RowWay:
    settings, words = _chosen(promise, scaling, promise.epsilon)
    facts = WayFacts(
        "rows", "rows, best mechanism", f"{words}; labels as they are.",
        "nobody", promise.epsilon, settings.delta, False,
    )  # fmt: skip
    return RowWay(facts, settings)


def _rows_and_labels(promise: Promise, scaling: Scaling) -> RowWay:
    spent = label_epsilon(promise.epsilon)
    settings, words = _chosen(promise, scaling, promise.epsilon - spent)
    facts = WayFacts(
        "rows_and_labels", "rows and labels, both protected",
        f"{words} at ε = {promise.epsilon - spent:.3g}; labels by randomised response at "
        f"ε = {spent:.3g}.", "nobody", promise.epsilon, settings.delta, True,
    )  # fmt: skip
    return RowWay(facts, settings, spent)


def _shuffled(promise: Promise, scaling: Scaling) -> RowWay | None:
    """Rows and labels that are both pure locally, mixed: any pure mechanism is amplified."""
    local = local_epsilon(promise)
    if local < _LEAST_GAIN * promise.epsilon:
        return None
    spent = label_epsilon(local)
    settings, words = _chosen(promise, scaling, local - spent, mechanism="privunit")
    facts = WayFacts(
        "shuffled", "rows and labels, shuffled",
        f"{words} at ε = {local - spent:.3g} and randomised labels at ε = {spent:.3g}, in random "
        "order; the guarantee is that of the whole batch (Feldman, McMillan and Talwar 2021).",
        "shuffler", promise.epsilon, promise.delta, True,
    )  # fmt: skip
    return RowWay(facts, settings, spent)


def _central(key: str, promise: Promise, scaling: Scaling) -> CentralWay:
    n_components = central_components(promise.n_patients, len(scaling.columns))
    public = "public components" if scaling.fitted_on == "public" else "columns"
    label, what = {
        "private_training": (
            "a model trained by a curator",
            "Logistic regression by full-batch gradient descent with clipped, noisy gradients",
        ),
        "private_moments": (
            "mean and covariance from a curator",
            "Linear discriminant of a released mean and covariance of rows and labels",
        ),
        "synthetic_table": (
            "a synthetic table from a curator",
            "Logistic regression on a table drawn from a released mean and covariance",
        ),
    }[key]
    facts = WayFacts(
        key, label, f"{what}, {n_components} {public}.", "curator",
        promise.epsilon, promise.delta, True,
    )  # fmt: skip
    return CentralWay(facts, promise.epsilon, promise.delta, n_components)


def local_epsilon(promise: Promise) -> float:
    """Give the local epsilon whose shuffled batch keeps a promise.

    Parameters
    ----------
    promise : Promise
        The central guarantee.

    Returns
    -------
    float
        The largest that the bound for any pure mechanism proves, to about one in a million;
        epsilon itself where shuffling so few rows proves nothing more.

    References
    ----------
    Feldman, McMillan and Talwar 2021, Theorem 3.1.
    """
    low, high = promise.epsilon, max(promise.epsilon, _LARGEST_LOCAL_EPSILON)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        holds = clones_delta(promise.epsilon, middle, promise.n_patients) <= promise.delta
        low, high = (middle, high) if holds else (low, middle)
    return low


def _chosen(
    promise: Promise, scaling: Scaling, epsilon: float, mechanism: str = "auto"
) -> tuple[ProtectSettings, str]:
    """Choose a row mechanism as a study with ``mechanism = "auto"`` would."""
    delta = 0.0 if mechanism == "privunit" else promise.delta
    wishes = RowWishes(mechanism, epsilon, delta, promise.clip_norm)
    choice = choose_rows(wishes, scaling, promise.n_patients)
    settings = ProtectSettings(
        choice.mechanism, epsilon, choice.delta, promise.clip_norm,
        projection=choice.projection, codebook=choice.codebook, choice=choice.sentence,
    )  # fmt: skip
    kept = choice.projection
    words = choice.mechanism if kept is None else (
        f"{choice.mechanism} on {kept.components} public components"
    )  # fmt: skip
    return settings, words[0].upper() + words[1:]
