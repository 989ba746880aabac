"""A round of secure aggregation, by Flower's SecAgg+ (Bell et al. 2020).

Flower offers it for its older interfaces only, so the round is wrapped here: a strategy of the old
kind that hands out one message and keeps what comes back. Hospitals that drop out before they
have shared their keys are left out of what follows, which Flower 1.42 forgets to do: it would ask
for shares that nobody has, and the round would fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.masks import use_whole_keys
from neuroveil.deploy.federated.models import Arrays, parameter_shapes
from neuroveil.deploy.federated.noise import mask_terms
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.types.recording import FloatArray

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid


@dataclass
class MaskedRound:
    """What a masked round gave.

    Parameters
    ----------
    total : list of ndarray of float64, optional
        Mean over the hospitals that are in, weighted; none where the round came to nothing.
    told : dict of int to mapping
        What each hospital said in the clear, by node.
    failures : int
        Messages that came to nothing.
    """

    total: list[FloatArray] | None = None
    told: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    failures: int = 0


def masked_round(
    grid: Grid,
    context: Context,
    plan: FederationPlan,
    asked: Sequence[int],
    message: tuple[Arrays, Mapping[str, Any]],
) -> MaskedRound:
    """Run one masked exchange.

    Parameters
    ----------
    grid : flwr Grid
        Flower's transport.
    context : flwr Context
        Of the coordinator's run.
    plan : FederationPlan
        What was agreed.
    asked : sequence of int
        Nodes of the hospitals.
    message : tuple
        The common model, and what goes along with it.

    Returns
    -------
    MaskedRound
        The sum, or nothing.
    """
    use_whole_keys()
    app, compat, common, constants, records = require(
        "flwr.app", "flwr.server.compat", "flwr.common", "flwr.server.workflow.constant",
        "flwr.compat.common.recorddict_compat",
    )  # fmt: skip
    arrays, config = message
    parameters = common.ndarrays_to_parameters([arrays[name] for name in parameter_shapes(plan)])
    found = MaskedRound()
    legacy = compat.LegacyContext(
        context=context, strategy=_strategy(found, asked, parameters, dict(config))
    )
    legacy.state.config_records[constants.MAIN_CONFIGS_RECORD] = app.ConfigRecord(
        {constants.Key.CURRENT_ROUND: int(config["attempt"])}
    )
    legacy.state.array_records[constants.MAIN_PARAMS_RECORD] = records.parameters_to_arrayrecord(
        parameters, True
    )
    _workflow(plan)(grid, legacy)
    return found


def _workflow(plan: FederationPlan) -> Any:
    (module,) = require("flwr.server.workflow.secure_aggregation.secaggplus_workflow")
    terms = mask_terms(plan)

    class Workflow(module.SecAggPlusWorkflow):  # type: ignore[misc, name-defined]
        """Flower's, but for hospitals that drop out early."""

        def share_keys_stage(self, grid: Any, context: Any, state: Any) -> bool:
            if not super().share_keys_stage(grid, context, state):
                return False
            shared = set(state.active_node_ids)
            state.sampled_node_ids = shared
            state.nid_to_neighbours = {nid: set(shared) for nid in shared}
            return bool(self._check_threshold(state))

    return Workflow(
        num_shares=1.0, reconstruction_threshold=terms.threshold, max_weight=terms.max_weight,
        clipping_range=terms.clipping_range, quantization_range=terms.quantisation_range,
        modulus_range=terms.modulus, timeout=plan.round_seconds,
    )  # fmt: skip


def _strategy(
    found: MaskedRound, asked: Sequence[int], parameters: Any, config: dict[str, Any]
) -> Any:
    """Make the strategy of the old kind that the protocol talks to."""
    server, common = require("flwr.server.strategy", "flwr.common")

    class OneExchange(server.Strategy):  # type: ignore[misc, name-defined]
        """Sends one message to every hospital that is asked, and keeps the sum."""

        def initialize_parameters(self, client_manager: Any) -> Any:
            return parameters

        def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
            instructions = common.FitIns(parameters, config)
            return [(_Proxy(node_id), instructions) for node_id in asked]

        def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
            found.told = {proxy.node_id: dict(answer.metrics) for proxy, answer in results}
            found.failures = len(failures)
            if results:
                summed = common.parameters_to_ndarrays(results[0][1].parameters)
                found.total = [np.asarray(array, dtype=np.float64) for array in summed]
            return None, {}

        def configure_evaluate(self, server_round: int, parameters: Any, manager: Any) -> Any:
            return []

        def aggregate_evaluate(self, server_round: int, results: Any, failures: Any) -> Any:
            return None, {}

        def evaluate(self, server_round: int, parameters: Any) -> Any:
            return None

    return OneExchange()


@dataclass(frozen=True)
class _Proxy:
    """All that the protocol asks of a client's proxy is its number."""

    node_id: int
