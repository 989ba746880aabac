"""Attacks on our own encodings, after the published ones.

Each is given what its authors give it, and a little more where that is simpler: a population
list from which the encoded people come. An attack that succeeds here says what an encoding gives
away to somebody **without** the key; two more show what happens to somebody **with** it.
"""
