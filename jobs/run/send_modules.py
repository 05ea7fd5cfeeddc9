"""Sends modules beside a job's file to the workers.

Workers on this machine find them where they are. Those on others are sent what the job has imported from there when it
starts; a module that a function imports only while it runs has to be handed over with `--py-files`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from eddy.jobs.dist import PACKAGE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def send_modules(spark: SparkSession, folder: str) -> None:
    """Send imported modules of a folder to other machines."""
    if str(spark.sparkContext.master).startswith("local"):
        return
    with tempfile.TemporaryDirectory(prefix="eddy-") as place:
        for found in modules_in(folder, dict(sys.modules)):
            spark.sparkContext.addPyFile(str(found if found.is_file() else _pack(found, Path(place))))


def modules_in(folder: str, loaded: Mapping[str, ModuleType]) -> list[Path]:
    """The files and packages that modules come from.

    Our own are left out: they are in our zip.
    """
    found = set()
    for name, module in loaded.items():
        top, file = name.partition(".")[0], getattr(module, "__file__", None) or ""
        for place in (Path(folder, f"{top}.py"), Path(folder, top)):
            if top != PACKAGE and (file == str(place) or file.startswith(f"{place}{os.sep}")):
                found.add(place)
    return sorted(found)


def _pack(package: Path, place: Path) -> Path:
    """A package as a zip, with its data and without what is compiled."""
    target = place / f"{package.name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as whole:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                whole.write(path, path.relative_to(package.parent))
    return target
