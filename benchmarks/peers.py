"""Engines that may be missing: which are, and a remedy."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ENGINES = {"flink": "pyflink", "pathway": "pathway"}
"""Engines that cannot be installed beside Spark and us, and the module each is known by: they want an older pyarrow,
so each has an environment of its own, which `make peers` makes."""

PLACE = "EDDY_{}_PYTHON"
"""The environment variable that says which python has an engine; without it, the one that `make peers` has made."""


def python_of(engine: str) -> Path:
    """The python that has an engine, if any has."""
    made = ROOT / ".venv" / "peers" / engine / "bin" / "python"
    return Path(os.environ.get(PLACE.format(engine.upper()), made))


def without_engine(engine: str) -> str | None:
    """The reason why an engine is skipped; None if it is there."""
    python = python_of(engine)
    if not python.exists():
        return f"{engine} has no environment: make peers, or {PLACE.format(engine.upper())} says which python has it"
    found = list(python.parent.parent.glob(f"lib*/python3.*/site-packages/{ENGINES[engine]}"))
    return None if found else f'{engine} is not installed where its python is: no "{ENGINES[engine]}" there'


def absent() -> dict[str, str]:
    """Every engine that is skipped, and why."""
    return {engine: reason for engine in ENGINES if (reason := without_engine(engine))}
