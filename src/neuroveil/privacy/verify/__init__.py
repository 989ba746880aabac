"""Derive a privacy claim again, from the document alone, with code of its own.

Nothing here is shared with the code that makes releases: numbers come from
:mod:`~neuroveil.privacy.verify.arithmetic`, the expected form from
:mod:`~neuroveil.privacy.verify.rulebook`, both written from ``docs/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.arithmetic import precise
from neuroveil.privacy.verify.books import (
    check_composition,
    check_model,
    check_postprocessing,
    check_software,
    check_utility,
)
from neuroveil.privacy.verify.budget import check_accountant, check_guarantee
from neuroveil.privacy.verify.clipping import check_bound, check_sensitivity
from neuroveil.privacy.verify.conclusion import check_conclusion
from neuroveil.privacy.verify.document import read_certificate, read_claim
from neuroveil.privacy.verify.folder import CERTIFICATE, check_folder
from neuroveil.privacy.verify.noise import check_mechanism, check_sampler
from neuroveil.privacy.verify.people import (
    check_adjacency,
    check_domain,
    check_preprocessing,
    check_unit,
)
from neuroveil.privacy.verify.result import LINKS, Check, Scope, VerificationResult
from neuroveil.privacy.verify.statement import Statement
from neuroveil.privacy.verify.structure import check_structure

__all__ = ["Check", "VerificationResult", "verify"]

_CHAIN: tuple[Callable[[Statement], Iterator[Check]], ...] = (
    check_structure, check_unit, check_adjacency, check_domain, check_preprocessing,
    check_bound, check_sensitivity, check_mechanism, check_sampler, check_guarantee,
    check_accountant, check_composition, check_model, check_postprocessing, check_utility,
    check_software,
)  # fmt: skip

_NOTES: dict[Scope, tuple[str, ...]] = {
    "release": (
        "The Parquet file is bound by its digest; its values were not compared with the CSV file.",
        "Whether the stated steps are what was run, and whether the ledger is complete, rests on "
        "the site that made the release.",
    ),
    "certificate": ("Only the certificate was verified, not the files that it belongs to.",),
    "claim": ("Only what the claim states was verified, not what was run.",),
}


def verify(path: str | Path) -> VerificationResult:
    """Verify a release folder, a certificate or somebody's claim.

    Parameters
    ----------
    path : str or Path
        A release folder, a ``.json`` certificate, or a ``.toml`` claim.

    Returns
    -------
    VerificationResult
        Every check with what is stated and what was recomputed; exit code 0 where
        everything holds, 4 where a link is broken, 5 where one cannot be checked.

    Raises
    ------
    CertificateError
        If there is nothing to verify there: no such file, not JSON or TOML, larger than
        10 MB, nested too deeply, a key that occurs twice, NaN or infinity, or a claim with
        names that no certificate has.
    """
    place = Path(path)
    with precise():
        if place.is_dir():
            statement = read_certificate(place / CERTIFICATE)
            checks = _check_certificate(statement)
            checks += list(check_folder(statement, place))
            return _result("release", statement, checks)
        if place.suffix == ".json":
            statement = read_certificate(place)
            return _result("certificate", statement, _check_certificate(statement))
        if place.suffix == ".toml":
            statement = read_claim(place)
            return _result("claim", statement, _check_chain(statement))
    raise CertificateError(
        "what to verify", "a release folder, a .json certificate or a .toml claim",
        "none of them", "Give the path of the release folder.",
    )  # fmt: skip


def _check_chain(statement: Statement) -> list[Check]:
    return [check for examine in _CHAIN for check in examine(statement)]


def _check_certificate(statement: Statement) -> list[Check]:
    chain = _check_chain(statement)
    return chain + list(check_conclusion(statement, chain))


def _result(scope: Scope, statement: Statement, checks: list[Check]) -> VerificationResult:
    ordered = sorted(checks, key=lambda check: LINKS.index(check.link))
    return VerificationResult(scope, statement.title, tuple(ordered), _NOTES[scope])
