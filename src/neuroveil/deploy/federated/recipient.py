"""What a recipient does with a published model: apply it to people of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neuroveil.deploy.federated.inputs import model_inputs
from neuroveil.deploy.federated.model_file import read_model_file
from neuroveil.deploy.federated.models import logits_of
from neuroveil.deploy.federated.progress import MODEL_FILE, from_bytes
from neuroveil.deploy.federated.result_file import read_result
from neuroveil.privacy.scaling import scale_rows
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


def probabilities(folder: Path, table: FeatureTable, scaling: Scaling) -> FloatArray:
    """Apply a published model to rows that had no part in it.

    Verify the folder first, with ``neuroveil federate verify``: here it is only read.

    Parameters
    ----------
    folder : Path
        Of the training, with ``result.json`` and the model.
    table : FeatureTable
        Rows of one's own, with the columns of the plan. Private to whoever applies the model.
    scaling : Scaling
        The same public constants as in the plan.

    Returns
    -------
    ndarray of float64, shape (n_patients,)
        Probability of the positive class; above one half is a call for it.

    Raises
    ------
    CertificateError
        If ``result.json`` or the model cannot be read.
    FederationError
        If columns and constants are not those of the plan.
    ChainError
        If the table has other columns than the constants.
    """
    _, plan = read_result(folder)
    arrays = from_bytes(read_model_file(folder / MODEL_FILE, plan), plan)
    inputs = model_inputs(scale_rows(table, scaling), scaling, plan.inputs)
    return np.asarray(0.5 * (1 + np.tanh(logits_of(plan, arrays, inputs) / 2)))
