"""The link of the chain that all releases by a trusted curator have in common, as facts.

The dotted names are those of row releases wherever the meaning is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.types.certificate import Fact

WHO_IS_TRUSTED = (
    "Whoever holds all patients' rows together: the aggregate is computed from them as they are, "
    "and only its noise protects."
)


def model_link(n_patients: int) -> Mapping[str, Fact]:
    """State the trust model of a release that is computed from all rows together.

    Parameters
    ----------
    n_patients : int
        Roster size, public.

    Returns
    -------
    mapping of str to Fact
        Facts of the link ``model``.
    """
    return {
        "trust": setting("central", "neuroveil"),
        "batch": derived(
            n_patients, "all patients on the roster enter the aggregate",
            "domain.n", "domain.n",
        ),
        "who_is_trusted": setting(WHO_IS_TRUSTED, "neuroveil"),
    }  # fmt: skip
