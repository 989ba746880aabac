"""What a release of mean and covariance looks like as files, as text and plain data."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from neuroveil.types.central_release import CentralRelease

CONSTANTS = ("Centre", "Spread", "PublicCentre", "PublicSpread", "OutsideReference")
"""What a dictionary tells of a column's scaling, as far as it is published."""


def moments_text(release: CentralRelease) -> str:
    """Write the released sums: the only file that rests on patients directly.

    Parameters
    ----------
    release : CentralRelease
        What is about to be written.

    Returns
    -------
    str
        CSV with the header ``first,second,value``: one line for each column's sum (``second``
        is empty), then one for each entry of the upper triangle of products, columns counted
        from 1; whole numbers, in steps of the grid and of the squared grid.
    """
    d = len(release.columns)
    total, products = release.total.tolist(), release.products.tolist()
    lines: list[tuple[object, ...]] = [(j + 1, "", total[j]) for j in range(d)]
    lines += [(j + 1, k + 1, products[j][k]) for j in range(d) for k in range(j, d)]
    return _text([("first", "second", "value"), *lines])


def mean_text(release: CentralRelease) -> str:
    """Write the mean row.

    Parameters
    ----------
    release : CentralRelease
        What is about to be written.

    Returns
    -------
    str
        CSV with the header ``column,mean``, on the scaled axis (no unit).
    """
    names = [column.name for column in release.columns]
    lines = zip(names, map(repr, release.mean.tolist()), strict=True)
    return _text([("column", "mean"), *lines])


def covariance_text(release: CentralRelease) -> str:
    """Write the covariance.

    Parameters
    ----------
    release : CentralRelease
        What is about to be written.

    Returns
    -------
    str
        CSV, a line and a column for each feature column, on the scaled axis (no unit).
    """
    names = [column.name for column in release.columns]
    lines = [
        (name, *map(repr, line))
        for name, line in zip(names, release.covariance.tolist(), strict=True)
    ]
    return _text([("column", *names), *lines])


def synthetic_dictionary(
    release: CentralRelease, scaled: Mapping[str, Mapping[str, Any]], made_of: Mapping[str, str]
) -> dict[str, Any]:
    """Describe the synthetic table, in the manner of BIDS.

    Parameters
    ----------
    release : CentralRelease
        What is about to be written.
    scaled : mapping of str to mapping
        Entries of the feature columns on the scaled axis.
    made_of : mapping of str to str
        Digests of the files that it is made of.

    Returns
    -------
    dict
        For ``synthetic.json``.
    """
    is_public = release.scaling.is_published
    columns = {}
    for name, entry in scaled.items():
        kept = {key: entry[key] for key in CONSTANTS if key in entry}
        what = entry["FeatureLabel"] if is_public else f"{entry['FeatureLabel']}, scaled"
        columns[name] = {
            "Description": f"Synthetic value of {what}; it belongs to nobody",
            "Units": entry["UnscaledUnits"] if is_public else "1",
            "Transform": entry["Transform"],
            **kept,
        }
    n, d = release.synthetic.shape
    return {
        "Name": "Synthetic EEG features: rows of people who do not exist, drawn from the "
        "released mean and covariance of a cohort",
        "Synthetic": True,
        "MadeOf": dict(made_of),
        "NumberOfRows": n,
        "NumberOfColumns": d,
        "Reference": release.scaling.name if is_public else None,
        "Columns": columns,
        "NeuroveilChainDigest": release.certificate.chain_digest,
    }


def _text(lines: Iterable[tuple[object, ...]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()
