"""Versions of what a release rests on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("neuroveil", "opendp", "dp-accounting", "numpy", "scipy")


def measured_versions(others: Mapping[str, str]) -> dict[str, str]:
    """List the versions of Python, of this library and of what it draws and computes with.

    Parameters
    ----------
    others : mapping of str to str
        Versions of what prepared the table; measured ones take precedence.

    Returns
    -------
    dict of str to str
        Version by package, sorted by name.
    """
    versions = dict(others)
    versions["python"] = platform.python_version()
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # running from a source tree that is not installed
            versions[package] = "unknown"
    return dict(sorted(versions.items()))
