"""The mechanism itself under attack: its noise scale, its law, and what it tells apart.

Tier 2: :mod:`~neuroveil.audit.mechanism.noise` measures additive noise and
:mod:`~neuroveil.audit.mechanism.codeword_noise` codewords against
:mod:`~neuroveil.audit.mechanism.laws`, the laws that a chain can promise.

Tier 3: :mod:`~neuroveil.audit.mechanism.black_box` plays
:mod:`~neuroveil.audit.mechanism.canaries` against each other and
:mod:`~neuroveil.audit.mechanism.black_box_result` holds what it found against the claim.

:mod:`~neuroveil.audit.mechanism.estimators` turns counts into bounds; everything rests on it.
"""
