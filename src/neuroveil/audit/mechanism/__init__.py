"""The mechanism itself under attack: its noise scale, its law, and what it tells apart.

:mod:`~neuroveil.audit.mechanism.laws` holds the laws that a chain can promise,
:mod:`~neuroveil.audit.mechanism.noise_scale` measures the scale of released noise and
:mod:`~neuroveil.audit.mechanism.black_box` plays canary pairs against each other.
"""
