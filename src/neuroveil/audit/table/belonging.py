"""Whether a table can be the one behind a release, which needs no order of rows.

Summed over all patients, released rows minus bounded rows are noise alone. Somebody who names the
table of another session by mistake would read attack rates that mean nothing.
"""

from __future__ import annotations

import numpy as np

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import ReleasedRows
from neuroveil.audit.table.frame import Target
from neuroveil.errors import RecordingError

_FALSE_ALARM = 1e-9
_HEAVY_TAILS = 4.0
"""Laplace noise strays farther: no sum of it comes near four times the Gaussian limit."""


def check_belonging(target: Target, released: ReleasedRows) -> None:
    """Refuse a table that the noise of the release cannot explain.

    Codewords are not checked: they have no sum that noise would leave alone.

    Parameters
    ----------
    target : Target
        The release, with the scaled rows of the table.
    released : ReleasedRows
        The released rows, in any order.

    Raises
    ------
    RecordingError
        If the sum of the released rows is too far from the sum of the table's rows. A right
        table is refused once in 10^9 releases at most.
    """
    channel = target.channel
    if not isinstance(channel, AdditiveChannel):
        return
    from scipy.special import chdtri

    bounded = channel.against(target.rows).rows
    left = (channel.values(released) - bounded).sum(axis=0)
    variance = len(bounded) * channel.mechanism.noise_std**2
    limit = float(chdtri(channel.dimension, _FALSE_ALARM))
    if not channel.is_gaussian:
        limit *= _HEAVY_TAILS
    if float(np.square(left).sum()) / variance > limit:
        raise RecordingError(
            "table", "the rows that the release was made from",
            "rows that lie farther from it than its noise reaches",
            "Name the feature table of this very release, of the same session and settings.",
        )  # fmt: skip
