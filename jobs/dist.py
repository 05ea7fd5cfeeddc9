"""Packs dist/eddy.zip, for spark-submit --py-files.

python -m eddy.jobs.dist
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PACKAGE = "eddy"
"""The one name that is imported; `eddy/operators`, `eddy/policies` and `eddy/jobs` are links to folders beside it."""

MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the zip: the same sources make the same bytes, whenever they are packed."""


LEFT_OUT = "eddy/jobs/experiments"
"""What experiments alone need: a clone has it. `setup.cfg` leaves it out of wheels."""


def files(root: Path = ROOT) -> Iterator[Path]:
    """Our modules, and nothing that is compiled or lies about."""
    for folder, _, names in sorted(os.walk(root / PACKAGE, followlinks=True)):
        if Path(folder).is_relative_to(root / LEFT_OUT):
            continue
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def pack(target: Path, root: Path = ROOT) -> int:
    """Write the zip; gives the number of files in it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    packed = 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as whole:
        for path in files(root):
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            whole.writestr(entry, path.read_bytes())
            packed += 1
    return packed


def main() -> int:
    """Write it, and say what to do with it."""
    target = ROOT / "dist" / "eddy.zip"
    count = pack(target)
    print(f"dist/eddy.zip: {count} modules; spark-submit --py-files dist/eddy.zip jobs/run_stream.py JOB.toml")
    return 0


if __name__ == "__main__":
    sys.exit(main())
