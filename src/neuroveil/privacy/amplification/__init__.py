"""What shuffling adds: the central guarantee of rows that were randomised one by one.

Rows of an epsilon_0-local mechanism that are released in uniformly random order, without
identifiers or labels, are (epsilon, delta)-differentially private with a smaller epsilon to
everybody but the shuffler. :mod:`~neuroveil.privacy.amplification.clones` holds for every
pure mechanism, :mod:`~neuroveil.privacy.amplification.blanket` is sharper and holds for the
k-closest codebook, and :mod:`~neuroveil.privacy.amplification.tuning` chooses the codebook for
the guarantee after shuffling. Both bounds are rounded up.
"""
