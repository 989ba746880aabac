"""From what a release publishes back to its mechanism, as anybody can do it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import Channel
from neuroveil.audit.table.codewords import CodewordChannel
from neuroveil.audit.table.frame import Claim
from neuroveil.audit.table.moments import MomentsChannel
from neuroveil.errors import CertificateError
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.types.catalogue import Column
from neuroveil.types.certificate import Certificate
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class PublicFiles:
    """The documents of a release folder that an attack needs.

    Parameters
    ----------
    certificate : Certificate
        Verified.
    columns : tuple of Column
        Feature columns.
    dictionary : mapping
        Data dictionary of the feature columns.
    public_inputs : mapping
        Public constants of projection and post-processing; empty where there are none.
    """

    certificate: Certificate
    columns: tuple[Column, ...]
    dictionary: Mapping[str, Any]
    public_inputs: Mapping[str, Any]


def claim_of(certificate: Certificate) -> Claim:
    """Read what is claimed for the rows, or for the statistics, of one patient.

    Parameters
    ----------
    certificate : Certificate
        Verified.

    Returns
    -------
    Claim
        Without what labels and the constants of scaling have spent.
    """
    return Claim(
        float(certificate.value("guarantee.epsilon_rows")),
        _delta_of_rows(certificate),
        str(certificate.value("model.trust")),
    )


def channel_of(files: PublicFiles) -> Channel | MomentsChannel:
    """Make the mechanism again from its certificate.

    Parameters
    ----------
    files : PublicFiles
        What was published.

    Returns
    -------
    Channel or MomentsChannel
        With the release's own codebook, where it has one.

    Raises
    ------
    CertificateError
        If the noise that follows from the settings is not the noise that is stated.
    """
    certificate = files.certificate
    name = str(certificate.value("mechanism.name"))
    if name == "mean_covariance":
        return _moments(certificate)
    basis = _basis(files)
    if name == "privunit":
        return CodewordChannel(_privunit(certificate), basis)
    spec = _spec(certificate, name, _delta_of_rows(certificate))
    mechanism = make_mechanism(spec)
    assert isinstance(mechanism, AdditiveMechanism)  # all others of the registry
    _require_same(mechanism.noise_scale, certificate.value("mechanism.noise_scale"))
    return AdditiveChannel(mechanism, basis)


def scaling_of(files: PublicFiles) -> Scaling | None:
    """Read the published constants of scaling, public ones or those drawn under budget.

    Parameters
    ----------
    files : PublicFiles
        What was published.

    Returns
    -------
    Scaling or None
        None where the cohort's own statistics were used, which are not published.

    Raises
    ------
    CertificateError
        If constants are missing.
    """
    step = files.certificate.value("preprocessing.scaling")
    if step["fitted_on"] == "private":
        return None
    try:
        entries = [files.dictionary["Columns"][column.name] for column in files.columns]
        return Scaling(
            files.columns,
            np.array([float(entry["Centre"]) for entry in entries]),
            np.array([float(entry["Spread"]) for entry in entries]),
            "public",
            "constants of the release",
            tuple(bool(entry["OutsideReference"]) for entry in entries),
        )
    except (KeyError, TypeError, ValueError):
        raise CertificateError(
            "data dictionary", "centre and spread of every feature column", "others",
            "Name a folder that `neuroveil release` wrote.",
        ) from None  # fmt: skip


def _delta_of_rows(certificate: Certificate) -> float:
    """Delta without what drawing the constants of scaling has spent."""
    facts = certificate.chain["guarantee"]
    return float(facts.get("delta_rows", facts["delta"]).value)


def _spec(certificate: Certificate, name: str, delta: float) -> MechanismSpec:
    return MechanismSpec(
        name,
        float(certificate.value("mechanism.epsilon")),
        delta,
        float(certificate.value("bound.clip_norm")),
        certificate.value("bound.norm"),
        int(certificate.value("bound.dimension")),
    )


def _privunit(certificate: Certificate) -> PrivUnit:
    spec = _spec(certificate, "privunit", 0.0)
    size, top = (
        certificate.value("mechanism.codebook_size"),
        certificate.value("mechanism.codebook_top"),
    )
    seed = certificate.value("mechanism.codebook_seed")
    mechanism = PrivUnit(
        spec,
        CodebookDesign(spec.epsilon, spec.dimension, int(size), int(top)),
        None if seed is None else bytes.fromhex(seed),
    )
    stated = Fraction(certificate.value("mechanism.likelihood_ratio"))
    _require_same(float(mechanism.design.likelihood_ratio), float(stated))
    return mechanism


def _moments(certificate: Certificate) -> MomentsChannel:
    spec = MomentSpec(
        float(certificate.value("guarantee.epsilon_rows")),
        _delta_of_rows(certificate),
        float(certificate.value("bound.clip_norm")),
        int(certificate.value("domain.dimension")),
        int(certificate.value("domain.n")),
        float(certificate.value("mechanism.mean_share")),
    )
    mechanism = MeanCovariance(spec)
    stated = certificate.value("mechanism.noise_scale")
    _require_same(mechanism.calibration.noise_scale, stated)
    return MomentsChannel(mechanism)


def _basis(files: PublicFiles) -> FloatArray | None:
    if files.certificate.value("preprocessing.projection") is None:
        return None
    try:
        components = [[float.fromhex(x) for x in row] for row in files.public_inputs["basis"]]
        basis = np.array(components, dtype=np.float64).T
        fits = basis.shape == (len(files.columns), files.certificate.value("bound.dimension"))
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise CertificateError(
            "public inputs", "the basis that rows were projected on", "none that fits",
            "Name a folder that `neuroveil release` wrote.",
        )  # fmt: skip
    return np.ascontiguousarray(basis)


def _require_same(made: float, stated: Any) -> None:
    if not math.isclose(made, float(stated), rel_tol=_TOLERANCE):
        raise CertificateError(
            "certificate", "the noise that its settings call for", "other noise",
            "Run `neuroveil verify` on it: an attack would be scored by the wrong law.",
        )  # fmt: skip
