"""Rows of a release that is verified anew: what training at no further cost rests on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.errors import CertificateError, FederationError
from neuroveil.evaluate.downstream.labels import labels_by_value
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.pipeline.promise import planning_scaling
from neuroveil.pipeline.reports import read_release
from neuroveil.privacy.scaling import scale_rows
from neuroveil.privacy.verify import verify
from neuroveil.study import Study
from neuroveil.types.certificate import Certificate
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

if TYPE_CHECKING:
    import pandas as pd


def released_rows(study: Study, plan: FederationPlan) -> tuple[FloatArray, Labels, dict[str, Any]]:
    """Read the protected rows and labels that a hospital trains on.

    Parameters
    ----------
    study : Study
        The hospital's settings; its release folder holds the rows.
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    ndarray of float64, shape (n, n_features)
        Protected rows on the scaled axis (no unit).
    ndarray of bool, shape (n,)
        Released labels.
    dict
        What paid: the release's chain, with its epsilon and delta.

    Raises
    ------
    FederationError
        If the release is not there, does not hold, or promises less than the plan.
    """
    folder = study.path(study.output.release)
    try:
        result = verify(folder)
        certificate, columns = read_release(folder)
    except CertificateError as error:
        raise _refused("a release folder with its certificate", "none", error.remedy) from None
    if result.exit_code != 0 or not certificate.formal_guarantee:
        raise _refused(
            "a release whose certificate holds", "one whose does not", "Run `neuroveil verify`."
        )
    _check_promise(plan, certificate)
    scaling = planning_scaling(study)
    if columns != scaling.columns:
        raise _refused("the study's columns", "others", "Release the study again.")
    frame = _read(folder)
    labels = _labels(study, frame)
    values = frame[[column.name for column in columns]].to_numpy(dtype=np.float64)
    return _on_scaled_axis(folder, values, scaling), labels, {
        "release": certificate.chain_digest,
        "epsilon": certificate.value("guarantee.epsilon"),
        "delta": certificate.value("guarantee.delta"),
    }  # fmt: skip


def _check_promise(plan: FederationPlan, certificate: Certificate) -> None:
    epsilon, delta = (certificate.value(f"guarantee.{each}") for each in ("epsilon", "delta"))
    if epsilon > plan.epsilon or delta > plan.delta:
        raise _refused(
            f"epsilon of at most {plan.epsilon:g} and delta of at most {plan.delta:g}",
            f"epsilon = {epsilon:g}, delta = {delta:g}", "Release again, or agree on another plan.",
        )  # fmt: skip
    if certificate.value("domain.unprotected") and plan.privacy.labels != "unprotected":
        raise _refused(
            "a label under randomised response", "one that is released as it is",
            "Release again with policy = 'randomised_response', or name it in the plan.",
        )  # fmt: skip


def _table(folder: Path) -> Path:
    estimated = folder / "table_estimated.parquet"
    return estimated if estimated.exists() else folder / "table.parquet"


def _read(folder: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(_table(folder))


def _labels(study: Study, frame: pd.DataFrame) -> Labels:
    column = study.evaluation.label
    if column is None or column not in frame or study.evaluation.rule != "values":
        raise _refused(
            "the label under evaluation.label, with positive values, in the release", "none",
            "Release the label as a block under [[labels]].",
        )  # fmt: skip
    positive = study.evaluation.positive or ()
    found = labels_by_value([str(value) for value in frame[column]], positive, column).values
    return np.array([value is True for value in found], dtype=bool)


def _on_scaled_axis(folder: Path, values: FloatArray, scaling: Scaling) -> FloatArray:
    """The estimate is in feature units; a table alone lies on the scaled axis already."""
    if _table(folder).name == "table.parquet":
        return values
    n = values.shape[0]
    table = FeatureTable(
        tuple(map(str, range(n))), scaling.columns, values, np.zeros(n, dtype=np.int64), np.zeros(n)
    )
    return scale_rows(table, scaling)


def _refused(expected: str, found: str, remedy: str) -> FederationError:
    return FederationError("release", expected, found, remedy)
