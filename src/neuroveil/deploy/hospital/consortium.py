"""What people do in a study on a trusted server: propose, approve, request, review, fetch."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuroveil.deploy.hospital.answers import good
from neuroveil.deploy.hospital.connection import Answer, Connection
from neuroveil.deploy.hospital.pseudonymise import label_of
from neuroveil.deploy.hospital.submit import Progress
from neuroveil.deploy.manifest import Manifest, ManifestFile, manifest_from_json
from neuroveil.deploy.receipt import AUDIT_LOG, holds
from neuroveil.errors import CertificateError, StudyError, StudyMistake
from neuroveil.pipeline.promise import named_reference
from neuroveil.pipeline.settings import signal_settings, study_columns
from neuroveil.privacy.verify import VerificationResult, verify
from neuroveil.study import Study
from neuroveil.types.certificate import canonical_json

_DP_TRAINING = "dp_training"


def proposal_for(
    study: Study,
    title: str,
    hospitals: tuple[str, ...],
    policy: str,
    smallest_n: int | None = None,
    with_label: bool = False,
) -> dict[str, Any]:
    """Write a proposal from a study file. No recording is looked at.

    Parameters
    ----------
    study : Study
        The study file that all hospitals will use.
    title : str
        What the study is about, for those who approve it.
    hospitals : tuple of str
        Names that the server knows; their order matters for ``hospital_order``.
    policy : {"pool", "keep_longest", "hospital_order"}
        What becomes of a person's rows from several hospitals.
    smallest_n : int, optional
        Smallest number of people; the server's own number at least.
    with_label : bool
        Whether hospitals send the label under ``[evaluation]``, so that a model can be trained.

    Returns
    -------
    dict
        Public.

    Raises
    ------
    StudyError
        If the study scales with its own cohort, or clips in L1: a trusted server does neither.
    """
    if study.reference.scaling != "public_reference" or study.privacy.norm != "l2":
        raise StudyError([StudyMistake(
            "study file", "scaling = 'public_reference' and norm = 'l2'", "something else",
            "A trusted server scales with public constants and clips in L2.",
        )])  # fmt: skip
    reference = named_reference(study)
    return {
        "title": title, "hospitals": list(hospitals), "policy": policy,
        "columns": [column.name for column in study_columns(study)],
        "signal": signal_settings(study).public_params(),
        "reference": {**reference.to_json(), "digest": reference.digest},
        "clip_norm": study.privacy.clip_norm, "smallest_n_patients": smallest_n,
        **({"label": label_of(study)} if with_label else {}),
    }  # fmt: skip


class ConsortiumClient:
    """One person's way to a trusted server.

    Parameters
    ----------
    connection : Connection
        With the person's key.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def propose(self, study: str, proposal: dict[str, Any]) -> dict[str, Any]:
        """Propose a study.

        Parameters
        ----------
        study : str
            Its name on the server.
        proposal : dict
            From :func:`proposal_for`.

        Returns
        -------
        dict
            Its status.
        """
        return self._post("/v1/studies", {"study": study, "proposal": proposal})

    def status(self, study: str | None = None) -> dict[str, Any]:
        """Say how far a study is.

        Parameters
        ----------
        study : str, optional
            Its name; a list of all studies that one takes part in by default.

        Returns
        -------
        dict
            As the server tells it.
        """
        target = "/v1/studies" if study is None else f"/v1/studies/{_named(study)}"
        return good(self._connection.ask("GET", target))

    def decide(self, study: str, approve: bool) -> dict[str, Any]:
        """Approve or decline a study for one's hospital, as it is shown by its status.

        Parameters
        ----------
        study : str
            Its name.
        approve : bool
            Yes or no.

        Returns
        -------
        dict
            Its status afterwards.
        """
        document = {"proposal": self.status(study)["proposal"], "approve": approve}
        self._post(f"/v1/studies/{_named(study)}/approval", document)
        return self.status(study)

    def request(
        self,
        study: str,
        epsilon: float,
        mechanism: str = "auto",
        delta: float | None = None,
        components: int | None = None,
    ) -> dict[str, Any]:
        """Ask for a release.

        Parameters
        ----------
        study : str
            Its name.
        epsilon : float
            For one patient.
        mechanism : {"auto", "privunit", "mean_covariance", "dp_training"}
            What is released; ``dp_training`` is a model.
        delta : float, optional
            Default: min(1/n², 1e-5).
        components : int, optional
            Public components that a model sees; default: about sqrt(n).

        Returns
        -------
        dict
            Key ``release``, and the promise.
        """
        document = {"epsilon": epsilon, "mechanism": mechanism, "delta": delta}
        if components is not None:
            document["components"] = components
        return self._post(f"/v1/studies/{_named(study)}/releases", document)

    def review(self, study: str, approve: bool) -> dict[str, Any]:
        """Approve or decline the release that was asked for last.

        Parameters
        ----------
        study : str
            Its name.
        approve : bool
            Yes or no.

        Returns
        -------
        dict
            The status of the study afterwards.
        """
        asked = self._last(study)
        target = f"/v1/studies/{_named(study)}/releases/{asked['release']}/review"
        self._post(target, {"request": asked["request"], "approve": approve})
        return self.status(study)

    def abandon(self, study: str) -> dict[str, Any]:
        """End a study without a release.

        Parameters
        ----------
        study : str
            Its name.

        Returns
        -------
        dict
            Its status afterwards.
        """
        self._post(f"/v1/studies/{_named(study)}/end", {})
        return self.status(study)

    def fetch(
        self,
        study: str,
        target: Path,
        server_key: str | None = None,
        progress: Progress = lambda done, total, what: None,
    ) -> str:
        """Get a published release, and verify it before it is there.

        Parameters
        ----------
        study : str
            Its name.
        target : Path
            A folder that does not exist yet.
        server_key : str, optional
            The key that has to have signed the certificate, 64 hexadecimal digits.
        progress : callable
            Called with (bytes done, bytes in all, what).

        Returns
        -------
        str
            The certificate's verdict, derived again here.

        Raises
        ------
        CertificateError
            If what came does not hold.
        """
        asked = self._last(study)
        place = f"/v1/studies/{_named(study)}/releases/{asked['release']}/files"
        document = good(self._connection.ask("GET", place))
        of_training = asked.get("mechanism") == _DP_TRAINING
        manifest = manifest_from_json({"files": document.get("files")}, of_training)
        if manifest is None:
            raise _not_whole("a list of files of a release")
        if os.path.lexists(target):
            raise StudyError([StudyMistake(
                "--out", "a folder that does not exist yet", "an existing one",
                "Name another folder.",
            )])  # fmt: skip
        draft = Path(tempfile.mkdtemp(prefix=".neuroveil-", dir=target.absolute().parent))
        try:
            self._fetch_all(place, manifest, draft, progress)
            result = _verified(draft, server_key, of_training)
            if result.outcome != "holds":
                raise _not_whole("a release that holds")
            if of_training and _plan_of(draft) != asked.get("plan"):
                raise _not_whole("the training that was reviewed")
            draft.chmod(0o755)
            draft.rename(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return result.sentence

    def audit_log(self, server_key: str | None = None) -> dict[str, Any]:
        """Get the server's audit log, signed.

        Parameters
        ----------
        server_key : str, optional
            The key that has to have signed it.

        Returns
        -------
        dict
            Keys ``entries`` and ``head``, and those of a signed statement.

        Raises
        ------
        CertificateError
            If the signature does not hold.
        """
        document = good(self._connection.ask("GET", "/v1/audit-log"))
        if not holds(document, AUDIT_LOG, server_key):
            raise _not_whole("an audit log that the server signed")
        return document

    def _fetch_all(self, place: str, manifest: Manifest, draft: Path, progress: Progress) -> None:
        done = 0
        for file in manifest.files:
            with (draft / file.name).open("wb") as stream:
                for piece in self._pieces(place, file):
                    stream.write(piece)
                    done += len(piece)
                    progress(done, manifest.size, "fetching")

    def _pieces(self, place: str, file: ManifestFile) -> Iterator[bytes]:
        here, content = 0, hashlib.sha256()
        while here < file.size:
            answer = self._connection.ask("GET", f"{place}/{file.name}?offset={here}")
            if answer.status != 200 or not answer.content:
                good(Answer(answer.status, answer.document))
                raise _not_whole("all of a file")
            here += len(answer.content)
            content.update(answer.content)
            yield answer.content
        if f"sha256:{content.hexdigest()}" != file.digest:
            raise _not_whole("files as the server lists them")

    def _last(self, study: str) -> dict[str, Any]:
        releases = self.status(study)["releases"]
        if not releases:
            raise StudyError([StudyMistake(
                "study", "one for which a release was asked for", "none yet",
                "See `neuroveil consortium status`.",
            )])  # fmt: skip
        last: dict[str, Any] = releases[-1]
        return last

    def _post(self, target: str, document: dict[str, Any]) -> dict[str, Any]:
        return good(self._connection.ask("POST", target, canonical_json(document), slow=True))


def _verified(folder: Path, server_key: str | None, of_training: bool) -> VerificationResult:
    if not of_training:
        return verify(folder, server_key)
    from neuroveil.deploy.federated.verify import verify_training

    return verify_training(folder, server_key)


def _plan_of(folder: Path) -> str:
    """Digest of the plan of a training that was verified."""
    from neuroveil.deploy.federated.result_file import read_result

    _, plan = read_result(folder)
    return plan.digest


def _named(study: str) -> str:
    """Names become parts of addresses; what the server would refuse is not sent."""
    if not study or not study.isascii() or not study.replace("-", "").isalnum():
        raise StudyError([StudyMistake(
            "study", "a name of small letters, digits and hyphens", "another",
            "See `neuroveil consortium status` for the names.",
        )])  # fmt: skip
    return study


def _not_whole(expected: str) -> CertificateError:
    return CertificateError(
        "server",
        expected,
        "something else",
        "Run the same command again, and tell the coordinator.",
    )
