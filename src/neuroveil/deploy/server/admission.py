"""Whether a release may join the study: its certificate holds, and it fits the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from neuroveil.deploy.manifest import CERTIFICATE
from neuroveil.deploy.server.hospitals import Hospital
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings, Terms
from neuroveil.errors import CertificateError
from neuroveil.types.certificate import Certificate, certificate_from_json


class Admission:
    """Examines releases; whoever calls it sees to it that it is a few at a time.

    Parameters
    ----------
    settings : ServerSettings
        Terms of the study, and limits of an examination.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings

    def admit(self, folder: Path, hospital: Hospital) -> Certificate:
        """Verify a release anew and compare it with the study.

        Parameters
        ----------
        folder : Path
            The release as it arrived.
        hospital : Hospital
            Who sent it.

        Returns
        -------
        Certificate
            Of a release that holds and fits.

        Raises
        ------
        Refusal
            Code ``broken_certificate`` with the names of the links, ``incompatible`` with the
            names of the settings, or ``examination_failed``.
        """
        terms = self._settings.study
        found = self._examine(folder, hospital.public_key if terms.signed_by_hospital else "-")
        if found["outcome"] != "holds":
            raise Refusal(
                "broken_certificate", "a certificate that holds when it is derived again",
                f"one with open links: {', '.join(found['links'])}",
                "Run `neuroveil verify` on the release; nothing of it was kept.",
                {"links": found["links"], "sentences": found["sentences"]},
            )  # fmt: skip
        try:
            document = json.loads((folder / CERTIFICATE).read_bytes())
            certificate = certificate_from_json(document)
            names = misfits(certificate, terms)
        except (CertificateError, KeyError, TypeError, ValueError):
            raise _failed("a certificate without a part that the study needs") from None
        if names:
            raise Refusal(
                "incompatible", "a release that fits the study",
                f"another setting of {', '.join(names)}",
                "Use the study file that the coordinator sent, and ask them if in doubt.",
                {"settings": names},
            )  # fmt: skip
        return certificate

    def _examine(self, folder: Path, key: str) -> dict[str, Any]:
        limits = self._settings.limits
        sizes = (str(limits.examination_mib), str(limits.examination_seconds))
        # Only the interpreter's own way to its packages is handed on.
        environment = {
            name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")
        }
        try:
            done = subprocess.run(
                [sys.executable, "-m", f"{__package__}.examine", str(folder), key, *sizes],
                capture_output=True, check=True, timeout=2 * limits.examination_seconds,
                env={**environment, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
            found: dict[str, Any] = json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError):
            raise _failed("one that goes beyond its limits of time or memory") from None
        return found


def misfits(certificate: Certificate, terms: Terms) -> list[str]:
    """List in what a release differs from the study.

    Parameters
    ----------
    certificate : Certificate
        One that holds.
    terms : Terms
        What the study asks for.

    Returns
    -------
    list of str
        Dotted names; empty where it fits.
    """
    scaling = certificate.value("preprocessing.scaling")["params"]
    features = certificate.value("preprocessing.features")["params_digest"]
    # A cohort that draws its own constants states the public ones that they are measured in.
    reference = scaling.get("public_constants_digest", scaling.get("constants_digest"))
    fits = {
        "formal_guarantee": certificate.formal_guarantee is True,
        "domain.columns_digest": certificate.value("domain.columns_digest") == terms.columns_digest,
        "preprocessing.scaling": reference == terms.reference_digest,
        "preprocessing.features": features == terms.features_digest,
        "domain.n": certificate.value("domain.n") >= terms.smallest_n_patients,
        "guarantee.epsilon": certificate.value("guarantee.epsilon") <= terms.largest_epsilon,
        "domain.unprotected": not certificate.value("domain.unprotected"),
    }
    return [name for name, right in fits.items() if not right]


def _failed(found: str) -> Refusal:
    return Refusal(
        "examination_failed", "a release that can be verified", found,
        "Run `neuroveil verify` on the release; nothing of it was kept.",
    )  # fmt: skip
