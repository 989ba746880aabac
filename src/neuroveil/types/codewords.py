"""Which codeword of which public codebook stands for each row of a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Messages:
    """What is published of each row: a codebook's seed and the number of a codeword.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n_patients,)
        Numbers of codewords, from 0.
    seeds : tuple of bytes
        Seed of each row's codebook; all equal where the table shares one codebook.
    """

    numbers: npt.NDArray[np.int64]
    seeds: tuple[bytes, ...]

    def reordered(self, order: npt.NDArray[np.int64]) -> Messages:
        """Give the same messages in another order.

        Parameters
        ----------
        order : ndarray of int64, shape (n_patients,)
            Number of the message that comes first, second, and so on.

        Returns
        -------
        Messages
            As many messages.
        """
        return Messages(self.numbers[order], tuple(self.seeds[index] for index in order.tolist()))
