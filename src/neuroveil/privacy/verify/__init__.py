"""Derive a privacy claim again, from the document alone, with code of its own.

Nothing here is shared with the code that makes releases: numbers come from
:mod:`~neuroveil.privacy.verify.arithmetic`, the expected form from
:mod:`~neuroveil.privacy.verify.rulebook`, both written from ``docs/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.accountant import check_accountant
from neuroveil.privacy.verify.arithmetic import precise
from neuroveil.privacy.verify.books import check_model, check_software, check_utility
from neuroveil.privacy.verify.clipping import check_bound, check_sensitivity
from neuroveil.privacy.verify.conclusion import check_conclusion
from neuroveil.privacy.verify.document import read_certificate, read_claim
from neuroveil.privacy.verify.folder import CERTIFICATE, check_folder
from neuroveil.privacy.verify.guarantee import check_guarantee
from neuroveil.privacy.verify.moments import (
    check_moment_books,
    check_moment_promise,
    check_moments,
    is_of_moments,
)
from neuroveil.privacy.verify.noise import check_mechanism, check_sampler
from neuroveil.privacy.verify.people import (
    check_adjacency,
    check_domain,
    check_preprocessing,
    check_unit,
)
from neuroveil.privacy.verify.postprocessing import check_postprocessing
from neuroveil.privacy.verify.result import LINKS, Check, Scope, VerificationResult
from neuroveil.privacy.verify.shapes import hexadecimal
from neuroveil.privacy.verify.shuffled import check_amplification
from neuroveil.privacy.verify.signature import (
    check_previous,
    check_signature,
    fingerprint,
    read_public_key,
)
from neuroveil.privacy.verify.spending import check_composition
from neuroveil.privacy.verify.statement import Statement
from neuroveil.privacy.verify.structure import (
    check_structure,
    check_version,
    is_of_another_version,
)

__all__ = ["Check", "VerificationResult", "fingerprint", "read_public_key", "verify"]

_CHAIN: tuple[Callable[[Statement], Iterator[Check]], ...] = (
    check_structure, check_unit, check_adjacency, check_domain, check_preprocessing,
    check_bound, check_sensitivity, check_mechanism, check_sampler, check_guarantee,
    check_amplification, check_accountant, check_composition, check_model,
    check_postprocessing, check_utility, check_software,
)  # fmt: skip

_CHAIN_OF_MOMENTS: tuple[Callable[[Statement], Iterator[Check]], ...] = (
    check_structure, check_unit, check_adjacency, check_domain, check_preprocessing,
    check_moments, check_sampler, check_guarantee, check_moment_promise, check_moment_books,
    check_composition, check_model, check_postprocessing, check_software,
)  # fmt: skip

_RESTS_ON_SITE = (
    "Whether the stated steps are what was run, and whether the ledger is complete, rests on "
    "the site that made the release."
)
_UNSIGNED = (
    "The certificate is not signed: whoever can write to the folder can make another one for it."
)
_ANY_KEY = (
    "Whose key signed the certificate has to be known from elsewhere; ask for it with --public-key."
)
_NOTES: dict[Scope, tuple[str, ...]] = {
    "release": (_RESTS_ON_SITE,),
    "certificate": ("Only the certificate was verified, not the files that it belongs to.",),
    "claim": ("Only what the claim states was verified, not what was run.",),
}


def verify(
    path: str | Path, public_key: str | None = None, previous: str | Path | None = None
) -> VerificationResult:
    """Verify a release folder, a certificate or somebody's claim.

    Parameters
    ----------
    path : str or Path
        A release folder, a ``.json`` certificate, or a ``.toml`` claim.
    public_key : str, optional
        The key that has to have signed the certificate, 64 hexadecimal digits, see
        :func:`read_public_key`. Where it is left out, a signature is checked if there is one.
    previous : str or Path, optional
        The certificate that this one has to follow.

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
        names that no certificate has; or if the public key is none.
    """
    if public_key is not None and not hexadecimal(64).fits(public_key):
        raise CertificateError(
            "public key", "64 hexadecimal digits", "something else",
            "Ask the site for its public key; `neuroveil keys public` writes it.",
        )  # fmt: skip
    place = Path(path)
    folder = place if place.is_dir() else None
    with precise():
        if folder is None and place.suffix == ".toml":
            statement = read_claim(place)
            return _result("claim", statement, _check_chain(statement))
        if folder is None and place.suffix != ".json":
            raise CertificateError(
                "what to verify", "a release folder, a .json certificate or a .toml claim",
                "none of them", "Give the path of the release folder.",
            )  # fmt: skip
        statement = read_certificate(folder / CERTIFICATE if folder else place)
        scope: Scope = "release" if folder else "certificate"
        if is_of_another_version(statement):
            return _result(scope, statement, list(check_version(statement)))
        checks = _check_certificate(statement)
        if folder:
            checks += check_folder(statement, folder)
        checks += check_signature(statement, public_key)
        if previous is not None:
            checks += check_previous(statement, Path(previous))
        return _result(scope, statement, checks, _signature_notes(statement, public_key))


def _check_chain(statement: Statement) -> list[Check]:
    chain = _CHAIN_OF_MOMENTS if is_of_moments(statement) else _CHAIN
    return [check for examine in chain for check in examine(statement)]


def _check_certificate(statement: Statement) -> list[Check]:
    chain = _check_chain(statement)
    return chain + list(check_conclusion(statement, chain))


def _signature_notes(statement: Statement, public_key: str | None) -> tuple[str, ...]:
    if statement.document.get("signature") is None:
        return (_UNSIGNED,)
    return (_ANY_KEY,) if public_key is None else ()


def _result(
    scope: Scope, statement: Statement, checks: list[Check], notes: tuple[str, ...] = ()
) -> VerificationResult:
    ordered = sorted(checks, key=lambda check: LINKS.index(check.link))
    return VerificationResult(scope, statement.title, tuple(ordered), (*_NOTES[scope], *notes))
