"""Logistic regression and a multilayer perceptron, as named arrays and as PyTorch modules.

Everything is computed in 64-bit floating point, so that an average of models is the average that
a single computation would give, to rounding.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.errors import FederationError
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.types.recording import FloatArray

Arrays = dict[str, FloatArray]
"""Parameters of a model, or an update of them, by name."""


def parameter_shapes(plan: FederationPlan) -> dict[str, tuple[int, ...]]:
    """Give the shape of every parameter.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    dict of str to tuple of int
        In the order in which parameters are laid out in one vector.
    """
    k, hidden = plan.inputs.components, plan.model.hidden
    if plan.model.kind == "logistic":
        return {"0.weight": (1, k), "0.bias": (1,)}
    return {
        "0.weight": (hidden, k), "0.bias": (hidden,), "2.weight": (1, hidden), "2.bias": (1,),
    }  # fmt: skip


def initial_arrays(plan: FederationPlan) -> Arrays:
    """Give the model that everybody starts from. It depends on the plan alone.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        Zeros for logistic regression; for the perceptron weights after He et al. 2015, drawn by
        a public seed that follows from the plan.
    """
    shapes = parameter_shapes(plan)
    if plan.model.kind == "logistic":
        return {name: np.zeros(shape) for name, shape in shapes.items()}
    public = np.random.default_rng(int(plan.digest.removeprefix("sha256:")[:16], 16))
    return {
        name: public.standard_normal(shape) * np.sqrt(2 / shape[-1])
        if name.endswith("weight")
        else np.zeros(shape)
        for name, shape in shapes.items()
    }


def flatten(arrays: Mapping[str, FloatArray], shapes: Mapping[str, tuple[int, ...]]) -> FloatArray:
    """Lay parameters out in one vector.

    Parameters
    ----------
    arrays : mapping of str to ndarray of float64, in the shapes of the plan
        Parameters.
    shapes : mapping of str to tuple of int
        From :func:`parameter_shapes`.

    Returns
    -------
    ndarray of float64, shape (n_parameters,)
        In the order of ``shapes``.
    """
    return np.concatenate([np.asarray(arrays[name], dtype=np.float64).ravel() for name in shapes])


def unflatten(vector: FloatArray, shapes: Mapping[str, tuple[int, ...]]) -> Arrays:
    """Cut a vector into parameters.

    Parameters
    ----------
    vector : ndarray of float64, shape (n_parameters,)
        From :func:`flatten`.
    shapes : mapping of str to tuple of int
        From :func:`parameter_shapes`.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        Parameters.
    """
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    parts = np.split(np.asarray(vector, dtype=np.float64), ends[:-1])
    return {
        name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def check_arrays(plan: FederationPlan, arrays: Mapping[str, Any], where: str) -> Arrays:
    """Refuse parameters that are not exactly those of the plan.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : mapping of str to array
        What came.
    where : str
        What it is, for the message.

    Returns
    -------
    dict of str to ndarray of float64, in the shapes of the plan
        The same numbers.

    Raises
    ------
    FederationError
        If a name or shape differs, numbers are not 64-bit, or one is not finite.
    """
    shapes = parameter_shapes(plan)
    if set(arrays) != set(shapes):
        raise _refused(where, f"the {len(shapes)} parameters of the plan", "other names")
    for name, shape in shapes.items():
        # Never by broadcasting: a vector of one number would pass for a matrix.
        if tuple(arrays[name].shape) != shape:
            raise _refused(where, f"shape {shape}", f"shape {tuple(arrays[name].shape)}")
        if arrays[name].dtype != np.float64:
            raise _refused(where, "numbers of float64", str(arrays[name].dtype))
        if not bool(np.isfinite(arrays[name]).all()):
            raise _refused(where, "finite numbers", "some that are not")
    return {name: np.asarray(arrays[name]) for name in shapes}


def build_module(plan: FederationPlan, arrays: Mapping[str, FloatArray]) -> Any:
    """Make the PyTorch module of a plan.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : mapping of str to ndarray of float64, in the shapes of the plan
        Parameters.

    Returns
    -------
    torch.nn.Module
        From inputs of shape (n, k) to logits of shape (n, 1).
    """
    (torch,) = require("torch")
    k, hidden = plan.inputs.components, plan.model.hidden
    layers = (
        [torch.nn.Linear(k, 1)]
        if plan.model.kind == "logistic"
        else [torch.nn.Linear(k, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1)]
    )
    module = torch.nn.Sequential(*layers).double()
    module.load_state_dict({name: torch.from_numpy(arrays[name].copy()) for name in arrays})
    return module


def patient_gradients(
    plan: FederationPlan, arrays: Mapping[str, FloatArray], inputs: FloatArray, labels: Labels
) -> FloatArray:
    """Compute the gradient of every patient's own loss, with opacus.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : mapping of str to ndarray of float64, in the shapes of the plan
        Parameters.
    inputs : ndarray of float64, shape (n, k)
        Inputs (no unit).
    labels : ndarray of bool, shape (n,)
        True for the positive class.

    Returns
    -------
    ndarray of float64, shape (n, n_parameters)
        Gradients of the logistic loss (no unit).
    """
    if labels.size == 0:
        return np.zeros((0, plan.n_parameters))
    (opacus,) = require("opacus.grad_sample")
    module = opacus.GradSampleModule(build_module(plan, arrays), loss_reduction="sum")
    # In a batch the last digits of a row's gradient depend on who else is in it, and models can be
    # made that turn last digits into whole gradients. So rows go one by one, but where nobody is
    # to be protected.
    size = labels.size if plan.simulation else 1
    return np.concatenate([
        _batch_gradients(plan, module, inputs[first : first + size], labels[first : first + size])
        for first in range(0, labels.size, size)
    ])  # fmt: skip


def _batch_gradients(
    plan: FederationPlan, module: Any, inputs: FloatArray, labels: Labels
) -> FloatArray:
    (torch,) = require("torch")
    module.zero_grad(set_to_none=True)
    with warnings.catch_warnings():
        # PyTorch warns of opacus' hooks, which fire on outputs because inputs need no gradient.
        warnings.filterwarnings("ignore", message="Full backward hook")
        _loss(module, torch, inputs, labels).backward()
    by_name = {name.removeprefix("_module."): p for name, p in module.named_parameters()}
    return np.concatenate(
        [
            by_name[name].grad_sample.detach().numpy().reshape(labels.size, -1)
            for name in parameter_shapes(plan)
        ],
        axis=1,
    )


def mean_gradient(
    plan: FederationPlan, arrays: Mapping[str, FloatArray], inputs: FloatArray, labels: Labels
) -> FloatArray:
    """Compute the gradient of the mean loss, where nobody's own gradient is needed.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : mapping of str to ndarray of float64, in the shapes of the plan
        Parameters.
    inputs : ndarray of float64, shape (n, k)
        Inputs (no unit).
    labels : ndarray of bool, shape (n,)
        True for the positive class.

    Returns
    -------
    ndarray of float64, shape (n_parameters,)
        Gradient of the logistic loss (no unit).
    """
    (torch,) = require("torch")
    module = build_module(plan, arrays)
    (_loss(module, torch, inputs, labels) / labels.size).backward()
    by_name = dict(module.named_parameters())
    return np.concatenate([by_name[name].grad.numpy().ravel() for name in parameter_shapes(plan)])


def _loss(module: Any, torch: Any, inputs: FloatArray, labels: Labels) -> Any:
    # Copies, since where a row lies in memory can change the last digits too.
    logits = module(torch.tensor(inputs)).squeeze(1)
    truth = torch.tensor(labels, dtype=torch.float64)
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum")


def logits_of(
    plan: FederationPlan, arrays: Mapping[str, FloatArray], inputs: FloatArray
) -> FloatArray:
    """Judge inputs.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    arrays : mapping of str to ndarray of float64, in the shapes of the plan
        Parameters.
    inputs : ndarray of float64, shape (n, k)
        Inputs (no unit).

    Returns
    -------
    ndarray of float64, shape (n,)
        Log-odds of the positive class (nat).
    """
    (torch,) = require("torch")
    module = build_module(plan, arrays)
    with torch.no_grad():
        found: FloatArray = (
            module(torch.from_numpy(np.ascontiguousarray(inputs))).squeeze(1).numpy()
        )
    return found


def _refused(where: str, expected: str, found: str) -> FederationError:
    return FederationError(where, expected, found, "Train with the plan that was agreed on.")
