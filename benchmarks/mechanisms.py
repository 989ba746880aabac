"""Every mechanism at the same guarantee, on the same rows: what is left, and how fast.

For simulated rows with a public power-law spectrum (363 columns, as in the paper) and, where
the recordings are there, for the seventeen real patients of eegmat with the constants of the
seven others. Errors are against the clipped rows; ratios are to the analytic Gaussian and to
formally calibrated Laplace noise at the same epsilon (and delta = 1e-5), measured in the same
run. Peers are drawn too where they are installed (``pip install diffprivlib``); OpenDP's exact
integer sampler is timed against its plain use on floats::

    python benchmarks/mechanisms.py            # some minutes
    python benchmarks/mechanisms.py --quick    # small codebooks and cohorts, under a minute
    python benchmarks/mechanisms.py --json     # a list of rows on stdout, for machines

In shuffled rows epsilon is central and a trusted shuffler is needed; the Gaussian they are
compared with needs none.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.settings import Postprocessing, Projection, ProtectSettings
from neuroveil.simulate import spectrum_basis, spectrum_rows
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.scaling import Scaling

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
DELTA = 1e-5
CLIP_NORM = 2.0
DIMENSION = 363
DECAY = 1.5
PLAIN = Postprocessing(shrinkage="none", inverse_scaling=False)
WIENER = Postprocessing(shrinkage="wiener", inverse_scaling=True)
EEGMAT = Path(__file__).resolve().parents[2] / "shared" / "data" / "eegmat"


@dataclass(frozen=True)
class Row:
    """One mechanism on one cohort."""

    cohort: str
    epsilon: float
    delta: float
    trust_model: str
    n: int
    mechanism: str
    rmse: float
    correlation: float
    correlation_centred: float
    correlation_permuted: float
    mse_ratio_to_paper_gaussian: float
    mse_ratio_to_formal_laplace: float
    seconds: float


@dataclass(frozen=True)
class Cohort:
    """Scaled rows with public constants."""

    name: str
    rows: np.ndarray
    scaling: Scaling
    draws: int


def spectrum_cohort(n: int, draws: int) -> Cohort:
    """Rows with eigenvalues j^-1.5 in a random basis that is public."""
    eigenvalues, basis = spectrum_basis(DIMENSION, DECAY, seed=1)
    channels = tuple(f"E{number}" for number in range(1, 34))
    zeros, ones = np.zeros(DIMENSION), np.ones(DIMENSION)
    scaling = Scaling(
        columns=columns_for(channels, FEATURE_NAMES), centre=zeros, spread=ones,
        fitted_on="public", name="power-law spectrum", fallback=(False,) * DIMENSION,
        covariance=(basis * eigenvalues) @ basis.T,
    )  # fmt: skip
    return Cohort(f"spectrum j^-{DECAY:g}", spectrum_rows(n, DIMENSION, DECAY, 1), scaling, draws)


def eegmat_cohort(folder: Path, draws: int) -> Cohort:
    """The seventeen real patients, scaled with the built-in reference of the seven others."""
    import tempfile

    from neuroveil.pipeline.extract import extract_study
    from neuroveil.privacy import scale_rows
    from neuroveil.reference import default_reference
    from neuroveil.study import load_study

    example = Path(__file__).resolve().parents[1] / "examples" / "eegmat" / "study.toml"
    with tempfile.TemporaryDirectory() as scratch:
        study = Path(scratch) / "study.toml"
        text = example.read_text().replace("../../../shared/data/eegmat", str(folder))
        study.write_text(text)
        table = extract_study(load_study(study)).table
    scaling = default_reference("harmonised").scaling_for(table.columns)
    return Cohort("eegmat, 17 patients", scale_rows(table, scaling), scaling, draws)


def measured(cohort: Cohort, settings: ProtectSettings, label: str) -> Row:
    """Draw repeatedly and compare with the clipped rows."""
    n = cohort.rows.shape[0]
    start = time.perf_counter()
    plan = plan_rows(settings, cohort.scaling, n)
    source = SimulationRandomness(7)
    rows_int, clipped = plan.bound(cohort.rows), plan.clipped(cohort.rows)
    figures = []
    for _ in range(cohort.draws):
        own = plan.renewed(source)
        values = own.mechanism.apply(rows_int, own.mechanism.draw(n, source))
        figures.append(compare(own.estimates(values)[0], clipped))
    seconds = (time.perf_counter() - start) / cohort.draws
    return row_of(cohort, settings, label, figures, seconds)


def compare(estimate: np.ndarray, clipped: np.ndarray) -> tuple[float, float, float, float]:
    """Mean square error, correlation, the same without the cohort mean, and with rows moved."""
    centred = correlation(estimate - estimate.mean(axis=0), clipped - clipped.mean(axis=0))
    moved = correlation(estimate, np.roll(clipped, 1, axis=0))
    mse = float(np.square(estimate - clipped).mean())
    return mse, correlation(estimate, clipped), centred, moved


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson correlation over all cells."""
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def row_of(
    cohort: Cohort, settings: ProtectSettings, label: str, figures: list[Any], seconds: float
) -> Row:
    """Average over draws; ratios are filled in when the Gaussian and Laplace are known."""
    mse, whole, centred, moved = np.mean(figures, axis=0)
    return Row(
        cohort=cohort.name, epsilon=settings.epsilon, delta=settings.delta,
        trust_model=settings.trust_model, n=cohort.rows.shape[0], mechanism=label,
        rmse=float(np.sqrt(mse)), correlation=float(whole), correlation_centred=float(centred),
        correlation_permuted=float(moved), mse_ratio_to_paper_gaussian=float("nan"),
        mse_ratio_to_formal_laplace=float("nan"), seconds=seconds,
    )  # fmt: skip


def candidates(
    epsilon: float, dimension: int, largest: int
) -> Iterator[tuple[str, ProtectSettings]]:
    """Local mechanisms at one epsilon, the Gaussian and formal Laplace first."""

    def settings(name: str, delta: float, **more: Any) -> ProtectSettings:
        more = {"postprocessing": PLAIN, **more}
        return ProtectSettings(name, epsilon, delta, CLIP_NORM, **more)

    codebook = CodebookOptions(largest=codebook_size(epsilon, largest))
    yield "gaussian", settings("gaussian", DELTA)
    yield "laplace", settings("laplace", 0.0)
    yield "privunit", settings("privunit", 0.0, codebook=codebook)
    yield "privunit + wiener", settings("privunit", 0.0, codebook=codebook, postprocessing=WIENER)
    kept = Projection(best_components(epsilon, dimension))
    for name, delta in (("gaussian", DELTA), ("privunit", 0.0)):
        yield (
            f"public pca ({kept.components}) + {name} + wiener",
            settings(name, delta, codebook=codebook, projection=kept, postprocessing=WIENER),
        )


def codebook_size(epsilon: float, largest: int) -> int:
    """Large codebooks pay at large epsilons only, and their time grows with them."""
    return min(largest, 1 << 14 if epsilon <= 5 else 1 << 16 if epsilon <= 10 else 1 << 19)


def best_components(epsilon: float, dimension: int) -> int:
    """A public rule of thumb; ``mechanism = "auto"`` computes the number from the spectrum."""
    return min(dimension, max(2, round(3 * epsilon)))


def local_rows(cohort: Cohort, epsilons: tuple[float, ...], largest: int) -> Iterator[Row]:
    """All local mechanisms with their ratios, and the peers."""
    dimension = cohort.rows.shape[1]
    for epsilon in epsilons:
        rows = [measured(cohort, chosen, label)
                for label, chosen in candidates(epsilon, dimension, largest)]  # fmt: skip
        rows += peers(cohort, epsilon)
        yield from with_ratios(rows, rows[0].rmse ** 2, rows[1].rmse ** 2)


def with_ratios(rows: list[Row], gaussian: float, laplace: float) -> Iterator[Row]:
    """Say how many times less error each has than the Gaussian and formal Laplace."""
    for row in rows:
        mse = row.rmse**2
        yield Row(**{
            **asdict(row),
            "mse_ratio_to_paper_gaussian": gaussian / mse,
            "mse_ratio_to_formal_laplace": laplace / mse,
        })  # fmt: skip


def shuffled_rows(sizes: tuple[int, ...], epsilons: tuple[float, ...], draws: int) -> Iterator[Row]:
    """PrivUnit rows behind a trusted shuffler, at a central epsilon."""
    for n in sizes:
        cohort = spectrum_cohort(n, draws)
        for epsilon in epsilons:
            local = ProtectSettings("gaussian", epsilon, DELTA, CLIP_NORM, postprocessing=PLAIN)
            formal = ProtectSettings("laplace", epsilon, 0.0, CLIP_NORM, postprocessing=PLAIN)
            shuffled = ProtectSettings(
                "privunit", epsilon, DELTA, CLIP_NORM, trust_model="shuffled",
                postprocessing=PLAIN, delta_justification="comparison with the paper",
            )  # fmt: skip
            gaussian, laplace = (measured(cohort, s, "").rmse ** 2 for s in (local, formal))
            yield from with_ratios(
                [measured(cohort, shuffled, "privunit, shuffled")], gaussian, laplace
            )


def peers(cohort: Cohort, epsilon: float) -> list[Row]:
    """Draw what other libraries draw, as their users call them, on the same clipped rows."""
    gaussian = ProtectSettings("gaussian", epsilon, DELTA, CLIP_NORM, postprocessing=PLAIN)
    clipped = plan_rows(gaussian, cohort.scaling, cohort.rows.shape[0]).clipped(cohort.rows)[:17]
    rows = []
    for label, noisy in (("diffprivlib GaussianAnalytic", diffprivlib_noise),
                         ("OpenDP make_gaussian", opendp_noise)):  # fmt: skip
        start = time.perf_counter()
        try:
            estimate = noisy(clipped, epsilon)
        except ImportError:
            continue
        figures = [compare(estimate, clipped)]
        part = Cohort(cohort.name, clipped, cohort.scaling, 1)
        rows.append(row_of(part, gaussian, label, figures, time.perf_counter() - start))
    return rows


@functools.cache
def has_diffprivlib() -> bool:
    """Whether it imports whole; some of its releases fail beside a newer scikit-learn."""
    try:
        importlib.import_module("diffprivlib.mechanisms")
    except ImportError:
        return False
    return True


def diffprivlib_noise(clipped: np.ndarray, epsilon: float) -> np.ndarray:
    """A value at a time, as the paper did."""
    if not has_diffprivlib():
        raise ImportError
    from diffprivlib.mechanisms import GaussianAnalytic

    mechanism = GaussianAnalytic(epsilon=epsilon, delta=DELTA, sensitivity=2 * CLIP_NORM)
    return np.array([[mechanism.randomise(float(value)) for value in row] for row in clipped])


def opendp_noise(clipped: np.ndarray, epsilon: float) -> np.ndarray:
    """OpenDP's Gaussian on floats with the same noise scale."""
    import opendp.prelude as opendp

    from neuroveil.privacy.calibration import gaussian_sigma

    opendp.enable_features("contrib")
    sigma = gaussian_sigma(2 * CLIP_NORM, epsilon, DELTA)
    domain = opendp.vector_domain(opendp.atom_domain(T="f64", nan=False))
    measurement = opendp.m.make_gaussian(domain, opendp.l2_distance(T="f64"), scale=sigma)
    return np.array(measurement(clipped.ravel().tolist())).reshape(clipped.shape)


def sampler_speed(count: int) -> dict[str, float]:
    """Samples a second of the released noise, and of OpenDP's plain use on floats."""
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    domain = opendp.vector_domain(opendp.atom_domain(T="f64", nan=False))
    plain = opendp.m.make_gaussian(domain, opendp.l2_distance(T="f64"), scale=14.92)
    source, scale = SystemRandomness(), 14.92 * 2.0**40
    ways: dict[str, Callable[[], Any]] = {
        "exact integer gaussian": lambda: source.discrete_gaussian(scale, (count, 1)),
        "exact integer laplace": lambda: source.discrete_laplace(scale, (count, 1)),
        "OpenDP gaussian on floats": lambda: plain([0.0] * count),
    }
    speeds = {}
    for name, draw in ways.items():
        draw()
        start = time.perf_counter()
        draw()
        speeds[name] = count / (time.perf_counter() - start)
    return speeds


def main() -> None:
    """Run all comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="a list of rows on stdout")
    parser.add_argument("--quick", action="store_true", help="under a minute")
    options = parser.parse_args()
    largest = 1 << 12 if options.quick else 1 << 19
    epsilons = (1.0, 5.0) if options.quick else EPSILONS
    draws = 2 if options.quick else 3
    cohort = spectrum_cohort(50 if options.quick else 500, draws)
    rows = list(local_rows(cohort, epsilons, largest))
    sizes = (50,) if options.quick else (50, 200, 2000)
    rows += shuffled_rows(sizes, (1.0,) if options.quick else (0.5, 1.0, 2.0), draws)
    folder = Path(os.environ.get("NEUROVEIL_EEGMAT") or EEGMAT)
    if (folder / "Subject00_1.edf").is_file():
        repeats = 5 if options.quick else 20
        rows += local_rows(eegmat_cohort(folder, repeats), epsilons, largest)
    if options.json:
        json.dump([asdict(row) for row in rows], sys.stdout)
        return
    print(f"{'cohort':20} {'eps':>5} {'trust':8} {'n':>5} {'mechanism':40} {'rmse':>8} {'corr':>6} "
          f"{'moved':>6} {'x gauss':>8} {'x laplace':>9} {'s/draw':>7}")  # fmt: skip
    for row in rows:
        print(f"{row.cohort:20} {row.epsilon:5g} {row.trust_model:8} {row.n:5} "
              f"{row.mechanism:40} {row.rmse:8.3f} {row.correlation:6.3f} "
              f"{row.correlation_permuted:6.3f} {row.mse_ratio_to_paper_gaussian:8.2f} "
              f"{row.mse_ratio_to_formal_laplace:9.1f} {row.seconds:7.2f}")  # fmt: skip
    for name, speed in sampler_speed(20_000 if options.quick else 200_000).items():
        print(f"{name}: {speed:,.0f} samples a second")


if __name__ == "__main__":
    main()
