"""What a mechanism will leave, from public numbers alone.

Nothing here sees data: rows are taken to have exactly the clipping norm and entries that
average to zero, which is what scaling and clipping aim at. A forecast may therefore be
published, unlike a measured error.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Utility:
    """How close released values will be to the clipped values, on the scaled axis.

    Parameters
    ----------
    rmse, mae : float
        Root mean square and mean absolute error a cell (no unit).
    correlation : float
        Pearson correlation over all cells.
    snr_db : float
        Signal-to-noise ratio in dB.
    mse_over_clip_norm_squared : float
        Squared error of a whole row divided by the squared clipping norm.
    """

    rmse: float
    mae: float
    correlation: float
    snr_db: float
    mse_over_clip_norm_squared: float

    def to_json(self) -> dict[str, float]:
        """Give the forecast as plain data.

        Returns
        -------
        dict
            One entry a field.
        """
        return asdict(self)


def predict_additive(
    noise_std: float, mean_absolute_noise: float, clip_norm: float, dimension: int
) -> Utility:
    """Predict the utility of independent additive noise.

    Parameters
    ----------
    noise_std : float
        Standard deviation of the noise in one cell, on the scaled axis (no unit).
    mean_absolute_noise : float
        Mean absolute noise in one cell, on the scaled axis (no unit).
    clip_norm : float
        L2 norm that rows are taken to have (no unit).
    dimension : int
        Number of columns.

    Returns
    -------
    Utility
        With signal power C^2 / d and noise power v a cell: correlation
        sqrt(S / (S + v)) and signal-to-noise ratio 10 log10(S / v).
    """
    signal = clip_norm**2 / dimension
    noise = noise_std**2
    return Utility(
        rmse=noise_std,
        mae=mean_absolute_noise,
        correlation=math.sqrt(signal / (signal + noise)),
        snr_db=10 * math.log10(signal / noise),
        mse_over_clip_norm_squared=noise * dimension / clip_norm**2,
    )
