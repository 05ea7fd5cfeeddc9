"""The version of the package: installed, or a checkout's."""

from __future__ import annotations

from configparser import RawConfigParser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from eddy.requirements import check_versions

PACKAGE = "eddy-spark"

UNKNOWN = "0+unknown"
"""In a zip that travels to workers there is neither."""


def find_version(root: Path) -> str:
    """Find the installed version, else that of the checkout."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return checkout_version(root)


def checkout_version(root: Path) -> str:
    """Give the version that a checkout would be installed as.

    >>> checkout_version(Path("nowhere"))
    '0+unknown'
    """
    settings = RawConfigParser()
    settings.read(root / "setup.cfg", encoding="utf-8")
    ours = settings.get("metadata", "name", fallback="") == PACKAGE
    return settings.get("metadata", "version") if ours else UNKNOWN


check_versions()

__version__ = find_version(Path(__file__).resolve().parent.parent)
