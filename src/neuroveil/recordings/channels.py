"""What a channel label means: canonical names, kinds, references and bipolar pairs.

Names follow the international 10-20 and 10-10 systems (American Clinical Neurophysiology
Society, Guideline 2: Guidelines for Standard Electrode Position Nomenclature, 2016), by
which T3, T4, T5 and T6 are today's T7, T8, P7 and P8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

ChannelKind = Literal[
    "eeg", "bipolar", "mastoid", "eog", "ecg", "emg", "trigger", "annotation", "other"
]

_COLUMNS_BY_ROW: dict[str, str] = {
    "Fp": "1 z 2", "AF": "1 2 3 4 5 6 7 8 9 10 z", "F": "1 2 3 4 5 6 7 8 9 10 z",
    "FT": "7 8 9 10", "FC": "1 2 3 4 5 6 z", "T": "7 8 9 10", "C": "1 2 3 4 5 6 z",
    "TP": "7 8 9 10", "CP": "1 2 3 4 5 6 z", "P": "1 2 3 4 5 6 7 8 9 10 z",
    "PO": "1 2 3 4 5 6 7 8 9 10 z", "O": "1 2 z", "I": "1 2 z", "N": "z",
}  # fmt: skip

_OLD_NAMES = {"T3": "T7", "T4": "T8", "T5": "P7", "T6": "P8"}

_ELECTRODES: dict[str, str] = {
    f"{row}{column}".upper(): f"{row}{column}"
    for row, columns in _COLUMNS_BY_ROW.items()
    for column in columns.split()
} | _OLD_NAMES

_MASTOIDS = frozenset({"A1", "A2", "M1", "M2", "LM", "RM", "A12", "M12", "A1A2", "A1+A2", "M1+M2"})

_REFERENCES = frozenset({
    "REF", "LE", "AR", "AV", "AVG", "AVE", "AVERAGE", "CAR", "AA", "G", "G1", "G2", "GND", "R",
    "CS2", "BN", "ORG", "X", "LAPL", "REFERENCE", "COMMON", "LINKED", "LER", "0",
}) | _MASTOIDS  # fmt: skip

_EYES = frozenset({
    "EOG", "HEOG", "VEOG", "HEO", "VEO", "LOC", "ROC", "E1", "E2", "LEOG", "REOG", "EOGL",
    "EOGR", "EOGH", "EOGV", "HEOGL", "HEOGR", "VEOGU", "VEOGL", "LIO", "LSO", "RIO", "RSO",
})  # fmt: skip

_KIND_BY_START: tuple[tuple[str, ChannelKind], ...] = (
    ("EDF ANNOTATION", "annotation"), ("BDF ANNOTATION", "annotation"),
    ("STATUS", "trigger"), ("TRIG", "trigger"), ("STI", "trigger"), ("EVENT", "trigger"),
    ("MARK", "trigger"), ("MK", "trigger"), ("PHOTIC", "trigger"), ("ECG", "ecg"),
    ("EKG", "ecg"), ("EMG", "emg"), ("CHIN", "emg"), ("TIB", "emg"), ("LEG", "emg"),
    ("DELT", "emg"), ("EOG", "eog"), ("HEOG", "eog"), ("VEOG", "eog"),
)  # fmt: skip

_PREFIX = re.compile(r"^(?:EEG|POL)(?=[\s:_\-]|$)[\s:_\-]*")
_SEPARATOR = re.compile(r"\s*[-/:–−]\s*|_|\s+")
_COPY_NUMBER = re.compile(r"-\d$")
_MAX_LABEL = 80


@dataclass(frozen=True)
class ChannelLabel:
    """What a label of a file was understood to mean.

    Parameters
    ----------
    kind : str
        ``"eeg"`` for a scalp electrode against a common reference, ``"bipolar"`` for a pair
        of scalp electrodes, ``"mastoid"`` for ear and mastoid electrodes and what is
        derived from them, or another kind of signal.
    name : str
        Canonical name, ``""`` where there is none. Never the file's own text.
    reference : str
        Reference in capital letters as far as it is known, else ``""``.
    """

    kind: ChannelKind
    name: str = ""
    reference: str = ""


def canonical_electrode(text: str) -> str | None:
    """Give an electrode its current name in the 10-20 and 10-10 systems.

    Parameters
    ----------
    text : str
        One electrode in any case, for example ``"FP1"`` or ``"t3"``.

    Returns
    -------
    str or None
        For example ``"Fp1"`` or ``"T7"``; None where it is no scalp electrode.
    """
    return _ELECTRODES.get(text.strip(" .'\"").upper())


def canonical_channel(text: str) -> str | None:
    """Give a channel of a montage its canonical name.

    Parameters
    ----------
    text : str
        A label in any of the common spellings, for example ``"EEG T3-REF"`` or
        ``"f7-t3"``.

    Returns
    -------
    str or None
        For example ``"T7"`` or ``"F7-T7"``; None where it is no scalp channel.
    """
    label = parse_label(text)
    return label.name if label.kind in ("eeg", "bipolar") else None


@lru_cache(maxsize=4096)
def parse_label(text: str) -> ChannelLabel:
    """Understand a channel label of a file.

    Covers the layouts of TUH (``EEG FP1-REF``, ``EEG T3-LE``), CHB-MIT (``FP1-F7``, a second
    ``T8-P8``, ``-``), Siena (``EEG Fp1``, ``EKG EKG``), SeizeIT (``BTEleft SD``), Nihon
    Kohden (``POL X1``, ``EEG Fp1-Av``), Natus (``Fp1-Ref``) and PhysioNet (``Fc5.``).

    Parameters
    ----------
    text : str
        Label as it stands in the file; blanks and NUL bytes around it do not matter.

    Returns
    -------
    ChannelLabel
        Kind, canonical name and reference.
    """
    label = " ".join(text.replace("\x00", " ").split()).upper()[:_MAX_LABEL].strip(" .'\"")
    bare = _PREFIX.sub("", label)
    for candidate in (bare, _COPY_NUMBER.sub("", bare)):
        found = _scalp_or_eye(candidate)
        if found is not None:
            return found
    for start, kind in _KIND_BY_START:
        if bare.startswith(start) or label.startswith(start):
            return ChannelLabel(kind)
    return ChannelLabel("other")


def _scalp_or_eye(bare: str) -> ChannelLabel | None:
    """Recognise electrodes, pairs, mastoids and eye channels in a label without prefix."""
    parts = [part for part in _SEPARATOR.split(bare) if part]
    if not parts or len(parts) > 2:
        return None
    first, second = parts[0], (parts[1] if len(parts) == 2 else "")
    if first in _EYES:
        return ChannelLabel("eog", first if second in _REFERENCES | {""} else "", second)
    if first in _MASTOIDS and second in _REFERENCES | {""}:
        return ChannelLabel("mastoid", first, second)
    electrode, partner = canonical_electrode(first), canonical_electrode(second)
    if electrode is None:
        return None
    if partner is not None:
        return ChannelLabel("bipolar", f"{electrode}-{partner}")
    if second in _REFERENCES | {""}:
        return ChannelLabel("eeg", electrode, second)
    return None
