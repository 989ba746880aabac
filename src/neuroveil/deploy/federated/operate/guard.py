"""Stand between Flower's node and the coordinator: no bundle comes in that the site refuses.

Flower has a check of its own: with *trusted entities* a SuperNode stores and runs only bundles
that one of them has signed. Here the only trusted entity is the site itself, by a key that is
made when the process starts and never leaves it. The guard looks at a bundle and the settings
of its run; if the policy has no objection, it adds the site's signature. Without the guard, by
mistake or in a Flower release that has changed, no bundle is signed and every run is refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.hospital import open_hospital
from neuroveil.deploy.federated.operate.bundle import digest_of
from neuroveil.deploy.federated.operate.decisions import Decision, keep_decision
from neuroveil.deploy.federated.operate.policy import (
    Offer,
    bundle_objections,
    load_policy,
    plan_objections,
    run_objections,
)

_ENTITY = "site"

Say = Callable[[str], None]
Connection = Callable[..., AbstractContextManager[tuple[Any, ...]]]


class SiteGuard:
    """Decides about runs and signs the bundles of those that are allowed.

    Parameters
    ----------
    folder : Path
        The hospital's folder; its policy is read anew for every run.
    seat : Path
        Folder that the hospital answers from.
    say : callable
        Takes a line for the log.
    """

    def __init__(self, folder: Path, seat: Path, say: Say) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._folder = folder
        self._seat = seat
        self._say = say
        self._key = Ed25519PrivateKey.generate()
        self._decided: set[tuple[int, str, tuple[str, ...]]] = set()

    @property
    def trusted_entities(self) -> dict[str, str]:
        """What Flower's own check is told: the site, and nobody else."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        form = self._key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        return {_ENTITY: form.decode("ascii")}

    def allows(self, run: Any, fab: Any) -> bool:
        """Decide about a run, and keep the decision before anything happens.

        The bundle is unpacked, for its settings, only if its digest is allowed.

        Parameters
        ----------
        run : flwr Run
            As the coordinator describes it.
        fab : flwr Fab
            As the coordinator sent it.

        Returns
        -------
        bool
            Whether it may go on.
        """
        hospital, policy = open_hospital(self._seat), load_policy(self._folder)
        reasons = bundle_objections(policy, run.fab_hash, fab.content)
        if not reasons:
            reasons = run_objections(offer_of(run, fab.content), hospital.plan)
            reasons += plan_objections(policy, hospital.plan, hospital.n_patients)
        self._keep(run.run_id, digest_of(fab.content), reasons)
        return not reasons

    def _keep(self, run_id: int, app: str, reasons: list[str]) -> None:
        """Write a decision down once, however often the coordinator asks again."""
        if (run_id, app, tuple(reasons)) in self._decided:
            return
        keep_decision(self._folder, Decision(run_id, app, not reasons, reasons))
        self._decided.add((run_id, app, tuple(reasons)))
        for reason in reasons:
            self._say(f"Run refused by this site: {reason}.")

    def signature(self, content: bytes) -> dict[str, str]:
        """Sign a bundle in the form that Flower's check reads.

        Parameters
        ----------
        content : bytes
            The bundle.

        Returns
        -------
        dict of str to str
            Flower's ``verifications``.
        """
        signed_at = int(time.time())
        message = signed_at.to_bytes(8, "big") + hashlib.sha256(content).digest()
        text = base64.urlsafe_b64encode(self._key.sign(message)).decode().rstrip("=")
        return {
            "valid_license": "true",
            _ENTITY: json.dumps({"signature": text, "signed_at": signed_at}),
        }


def guarded(connect: Connection, guard: SiteGuard) -> Connection:
    """Put the guard into Flower's connection to the coordinator.

    Parameters
    ----------
    connect : callable
        Flower's ``http_request_response``.
    guard : SiteGuard
        The site's.

    Returns
    -------
    callable
        In its place.
    """

    @contextmanager
    def connected(*arguments: Any, **options: Any) -> Iterator[tuple[Any, ...]]:
        with connect(*arguments, **options) as parts:
            node, receive, send, get_run, get_fab, pull, push, confirm = parts
            runs: dict[int, Any] = {}

            def run_of(run_id: int) -> Any:
                runs[run_id] = get_run(run_id)
                return runs[run_id]

            def fab_of(digest: str, run_id: int) -> Any:
                return _examined(guard, runs[run_id], get_fab(digest, run_id))

            yield node, receive, send, run_of, fab_of, pull, push, confirm

    return connected


def _examined(guard: SiteGuard, run: Any, fab: Any) -> Any:
    """Give the bundle back with the site's signature, or an empty one without any."""
    from flwr.supercore.fab import Fab

    if guard.allows(run, fab):
        return Fab(digest_of(fab.content), fab.content, guard.signature(fab.content))
    return Fab("", b"", {})


def offer_of(run: Any, content: bytes) -> Offer:
    """Read a run and a bundle that is known.

    Parameters
    ----------
    run : flwr Run
        As the coordinator describes it.
    content : bytes
        A bundle whose digest is allowed.

    Returns
    -------
    Offer
        What the policy looks at.
    """
    from flwr.common.config import (
        get_fab_config,
        get_fused_config_from_fab,
        get_metadata_from_config,
    )

    return Offer(
        claimed=(run.fab_id, run.fab_version),
        identity=get_metadata_from_config(get_fab_config(content)),
        kind=run.primary_task_type,
        config=get_fused_config_from_fab(content, run),
    )
