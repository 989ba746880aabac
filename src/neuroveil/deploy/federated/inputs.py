"""From scaled rows to what a model is shown, by public constants alone."""

from __future__ import annotations

import numpy as np

from neuroveil.deploy.federated.specs import InputSpec
from neuroveil.errors import FederationError
from neuroveil.evaluate.downstream.private_training import clip_each
from neuroveil.privacy.public_model import public_model
from neuroveil.privacy.settings import columns_digest
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling


def model_inputs(rows: FloatArray, scaling: Scaling, spec: InputSpec) -> FloatArray:
    """Take rows along the first public components, whiten them, and bound their length.

    Centre, spread and components are those of a public reference, so that nothing is learned
    from the hospital's rows before training, and every hospital makes the same inputs.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, n_features)
        Scaled rows (no unit), finite.
    scaling : Scaling
        Public constants of the columns.
    spec : InputSpec
        What was agreed.

    Returns
    -------
    ndarray of float64, shape (n, k)
        Inputs of L2 norm at most sqrt(k) (no unit).

    Raises
    ------
    FederationError
        If the constants are not public, or not those that were agreed on.
    """
    if scaling.fitted_on != "public":
        raise FederationError(
            "reference", "public constants", "constants of a private cohort",
            "Set reference.scaling = 'public_reference': anything else would have to be charged.",
        )  # fmt: skip
    if (columns_digest(scaling.columns), scaling.name) != (spec.columns_digest, spec.reference):
        raise FederationError(
            "reference", "the columns and constants of the plan", "others",
            "Use the montage, features and reference that all hospitals agreed on.",
        )  # fmt: skip
    model = public_model(scaling)
    if model is None:
        return clip_each(rows[:, : spec.components], spec.row_norm)
    spread = np.sqrt(np.maximum(model.spectrum[: spec.components], 1e-12))
    basis = model.basis(spec.components)
    # In a product of all rows the last digits of one may depend on where it stands among the
    # others, which changes for many where one person is replaced by somebody of other hospitals.
    along = np.array([row.copy() @ basis for row in rows]).reshape(len(rows), spec.components)
    return clip_each(along / spread, spec.row_norm)
