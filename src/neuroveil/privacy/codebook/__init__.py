"""Public codebooks of unit vectors, for mechanisms that release one codeword a patient.

:mod:`~neuroveil.privacy.codebook.vectors` makes the codewords from a public seed,
:mod:`~neuroveil.privacy.codebook.ranking` finds the closest ones,
:mod:`~neuroveil.privacy.codebook.caps` has the moments of spherical caps, and
:mod:`~neuroveil.privacy.codebook.design` chooses sizes from public numbers.
"""
