"""Versioned public constants: centre, spread and covariance of the features in public EEG.

A release is scaled with constants that do not depend on the cohort, so scaling costs no
budget. :func:`load_reference` reads one, :meth:`Reference.scaling_for` turns it into the
constants of a study's columns, :func:`build_reference` makes a new one from public people.
"""

from neuroveil.reference.build import ReferenceDescription, ReferenceSamples, build_reference
from neuroveil.reference.fallback import general_constants
from neuroveil.reference.files import (
    default_reference,
    list_references,
    load_reference,
    save_reference,
)
from neuroveil.reference.model import Provenance, Reference
from neuroveil.reference.populations import population_caveats

__all__ = [
    "Provenance",
    "Reference",
    "ReferenceDescription",
    "ReferenceSamples",
    "build_reference",
    "default_reference",
    "general_constants",
    "list_references",
    "load_reference",
    "population_caveats",
    "save_reference",
]
