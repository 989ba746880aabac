"""A Flower strategy that refuses what Flower's own would average.

Loaded inside Flower processes only. An update that is refused is left out and named; where fewer
than the agreed minimum are left, the round is refused. Either way the common model, the count of
exchanges and the list of rounds are what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from neuroveil.deploy.federated.aggregate import aggregate
from neuroveil.deploy.federated.client import COUNTS, MODEL, SAID
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.local import N_BINS
from neuroveil.deploy.federated.models import Arrays, check_arrays
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.deploy.federated.progress import RunState
from neuroveil.errors import FederationError

if TYPE_CHECKING:
    from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
    from flwr.serverapp import Grid

_strategies, _app, _constant = require(
    "flwr.serverapp.strategy", "flwr.app", "flwr.common.constant"
)
_SUPERLINK = _constant.SUPERLINK_NODE_ID

NO_ANSWER = "no answer in time"
DECLINED = "the hospital refused, or its answer failed"


@dataclass(frozen=True, eq=False)
class Update:
    """A hospital's update that nothing speaks against.

    Parameters
    ----------
    hospital : str
        Its name.
    n_patients : int
        What it counts for.
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        Its model.
    """

    hospital: str
    n_patients: int
    arrays: Arrays


class RefusingStrategy(_strategies.Strategy):  # type: ignore[misc, name-defined]
    """Equation 2 of the paper over updates that were checked one by one.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    state : RunState
        Where the run stands.
    hospitals : mapping of int to str
        Name of the hospital behind each node, as enrolled.
    """

    def __init__(self, plan: FederationPlan, state: RunState, hospitals: Mapping[int, str]) -> None:
        self.plan = plan
        self.state = state
        self.hospitals = dict(hospitals)
        self.left_out: dict[str, str] = {}
        self._messages: list[Message] = []

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every enrolled hospital for an update.

        Parameters
        ----------
        server_round : int
            Number of the exchange.
        arrays : flwr ArrayRecord
            The common model.
        config : flwr ConfigRecord
            Goes along.
        grid : flwr Grid
            Not used: who is asked was enrolled.

        Returns
        -------
        iterable of flwr Message
            One a hospital.
        """
        return self._ask("train", server_round, arrays)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every enrolled hospital to judge the model.

        Parameters
        ----------
        server_round : int
            Number of the exchange.
        arrays : flwr ArrayRecord
            The common model.
        config : flwr ConfigRecord
            Goes along.
        grid : flwr Grid
            Not used: who is asked was enrolled.

        Returns
        -------
        iterable of flwr Message
            One a hospital.
        """
        return self._ask("evaluate", server_round, arrays)

    def _ask(self, kind: str, attempt: int, arrays: ArrayRecord) -> list[Message]:
        said = {"plan_digest": self.plan.digest, "attempt": attempt}
        self._messages = [
            _app.Message(
                _app.RecordDict({MODEL: arrays, SAID: _app.ConfigRecord(dict(said))}),
                dst_node_id=node, message_type=kind, group_id=str(attempt),
            )
            for node in self.hospitals
        ]  # fmt: skip
        return self._messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Make the next common model, or refuse and leave everything as it was.

        Parameters
        ----------
        server_round : int
            Number of the exchange.
        replies : iterable of flwr Message
            What came.

        Returns
        -------
        flwr ArrayRecord
            The new model.
        flwr MetricRecord
            How many hospitals and patients are behind it.

        Raises
        ------
        FederationError
            If fewer than the minimum can be used.
        """
        updates, left_out = self.examine(server_round, replies)
        self.left_out = left_out
        require_minimum(self.plan, len(updates))
        common = aggregate([(each.n_patients, each.arrays) for each in updates], self.plan.training)
        checked = check_arrays(self.plan, common, "new common model")
        self.state = replace(self.state, arrays=checked)
        counts = {"hospitals": len(updates), "patients": sum(each.n_patients for each in updates)}
        return to_record(checked), _app.MetricRecord(counts)

    def examine(
        self, attempt: int, replies: Iterable[Message]
    ) -> tuple[list[Update], dict[str, str]]:
        """Sort updates into those that count and those that are refused, with reasons.

        Parameters
        ----------
        attempt : int
            Number of the exchange.
        replies : iterable of flwr Message
            What came.

        Returns
        -------
        list of Update
            In the order of the plan.
        dict of str to str
            Why a hospital's update is not among them.
        """
        accepted: dict[str, Update] = {}
        refused = dict.fromkeys(self.hospitals.values(), NO_ANSWER)
        refused |= {
            seat.name: "not enrolled" for seat in self.plan.seats if seat.name not in refused
        }
        for number, reply in enumerate(replies, start=1):
            if self._is_of_nobody(reply):
                continue  # as without a reply: no answer in time
            # Named by the node that Flower has authenticated, never by what a reply says.
            name = self.hospitals.get(reply.metadata.src_node_id)
            try:
                update = self._examined(attempt, reply, name, "train")
            except FederationError as error:
                refused[name or f"a node that was not asked ({number})"] = _reason(error)
                continue
            if update.hospital in accepted:
                refused[f"{update.hospital} (again)"] = "answered twice; the first answer counts"
            else:
                accepted[update.hospital] = update
        order = [seat.name for seat in self.plan.seats]
        left_out = {name: why for name, why in refused.items() if name not in accepted}
        return sorted(accepted.values(), key=lambda each: order.index(each.hospital)), left_out

    def _is_of_nobody(self, reply: Message) -> bool:
        """Whether Flower's SuperLink says itself that a hospital that was asked did not answer."""
        asked = {message.metadata.message_id for message in self._messages}
        return (
            reply.has_error()
            and reply.metadata.src_node_id == _SUPERLINK
            and reply.metadata.reply_to_message_id in asked
        )

    def _examined(self, attempt: int, reply: Message, name: str | None, kind: str) -> Update:
        if name is None:
            raise _refused("a hospital that was asked", "a node that was not")
        self._check_thread(reply, kind)
        if reply.has_error():
            raise _refused("an answer", DECLINED)
        said: Mapping[str, Any] = reply.content.config_records.get(SAID) or {}
        check_words(self.plan, name, attempt, said)
        counts: Mapping[str, Any] = reply.content.metric_records.get(COUNTS) or {}
        n_patients = check_count(self.plan, name, counts.get("patients"))
        if kind != "train":
            return Update(name, n_patients, {})
        record = reply.content.array_records.get(MODEL)
        if record is None:
            raise _refused("a model", "none")
        try:
            arrays = {key: value.numpy() for key, value in record.items()}
        except Exception:  # bytes that are no array, in whatever way
            raise _refused("arrays of numbers", "something else") from None
        return Update(name, n_patients, check_arrays(self.plan, arrays, "update"))

    def _check_thread(self, reply: Message, kind: str) -> None:
        """A reply answers the message that this node was sent in this exchange, and no other."""
        for message in self._messages:
            if message.metadata.message_id == reply.metadata.reply_to_message_id:
                mine = message.metadata.dst_node_id == reply.metadata.src_node_id
                if mine and reply.metadata.message_type == kind:
                    return
        raise _refused("an answer to this exchange", "a late, repeated or misdirected one")

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Add up what patients who judge were called, hospital by hospital.

        Parameters
        ----------
        server_round : int
            Number of the exchange.
        replies : iterable of flwr Message
            What came.

        Returns
        -------
        flwr MetricRecord or None
            Losses and counts, ``HOSPITAL/name``; none where figures stay at the hospitals.
        """
        if not self.plan.figures_may_leave:
            return None
        found: dict[str, Any] = {}
        for reply in replies:
            name = self.hospitals.get(reply.metadata.src_node_id)
            try:
                self._examined(server_round, reply, name, "evaluate")
                counts = check_calls(dict(reply.content.metric_records[COUNTS]))
            except FederationError:
                continue
            found |= {f"{name}/{key}": value for key, value in counts.items()}
        return _app.MetricRecord(found) if found else None

    def summary(self) -> None:
        """Say nothing: the coordinator keeps its own record."""


def check_words(plan: FederationPlan, name: str, attempt: int, said: Mapping[str, Any]) -> None:
    """Refuse words of a hospital that do not belong to it or to this exchange.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    name : str
        Hospital behind the node.
    attempt : int
        Number of the exchange.
    said : mapping
        What came in the clear.

    Raises
    ------
    FederationError
        If another name, plan or exchange is claimed.
    """
    if said.get("hospital") != name:
        raise _refused("the name that this node was enrolled with", "another hospital's")
    if said.get("plan_digest") != plan.digest:
        raise _refused("the plan that was agreed on", "another")
    if said.get("attempt") != attempt or isinstance(said.get("attempt"), bool):
        raise _refused("the number of this exchange", "that of another")


def check_count(plan: FederationPlan, name: str, count: object) -> int:
    """Refuse a number of patients that was not agreed on.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    name : str
        Hospital.
    count : object
        What came.

    Returns
    -------
    int
        The same number.

    Raises
    ------
    FederationError
        If it is missing, no whole number, or another one than the plan's.
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise _refused("a whole number of patients", "none")
    if count != plan.seat(name).n_patients:
        raise _refused("the number of patients in the plan", "another")
    return count


def check_calls(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse counts of calls that cannot be.

    Parameters
    ----------
    counts : mapping
        What came.

    Returns
    -------
    dict
        Losses and counts, without the number of patients.

    Raises
    ------
    FederationError
        If a loss is no finite number of at least 0, or a count is negative or missing.
    """
    kept: dict[str, Any] = {}
    for part in ("validation", "test"):
        if f"{part}_loss" not in counts:
            continue
        loss = counts[f"{part}_loss"]
        if not (isinstance(loss, float) and 0 <= loss < float("inf")):
            raise _refused("a loss", "something else")
        kept[f"{part}_loss"] = loss
        for side in ("positive", "negative"):
            bins = counts.get(f"{part}_{side}")
            right = isinstance(bins, list) and len(bins) == N_BINS
            if not right or not all(isinstance(each, int) and each >= 0 for each in bins or []):
                raise _refused("counts of calls", "something else")
            kept[f"{part}_{side}"] = bins
    return kept


def require_minimum(plan: FederationPlan, n_updates: int) -> None:
    """Refuse a round that too few hospitals are in.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    n_updates : int
        Hospitals whose update counts.

    Raises
    ------
    FederationError
        If they are fewer than the minimum.
    """
    if n_updates < plan.minimum_hospitals:
        raise FederationError(
            "round", f"updates of at least {plan.minimum_hospitals} hospitals", f"{n_updates}",
            "Nothing was changed. Bring the hospitals back and run again: it goes on from here.",
        )  # fmt: skip


def to_record(arrays: Arrays) -> ArrayRecord:
    """Put parameters into Flower's record.

    Parameters
    ----------
    arrays : dict of str to ndarray of float64, in the shapes of the plan
        Parameters.

    Returns
    -------
    flwr.app.ArrayRecord
        The same numbers.
    """
    record: ArrayRecord = _app.ArrayRecord(
        {name: _app.Array(value) for name, value in arrays.items()}
    )
    return record


def _refused(expected: str, found: str) -> FederationError:
    return FederationError(
        "update", expected, found, "The update was left out; look at that hospital's log."
    )


def _reason(error: FederationError) -> str:
    return error.found if error.found == DECLINED else f"{error.found} instead of {error.expected}"
