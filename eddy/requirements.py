"""The versions that we run on, checked before anything of ours is imported.

What is too old fails somewhere deep inside with words that nobody understands.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

PYTHON = "3.11"

REQUIRED = (("pyarrow", "21", "27"), ("numpy", "2", "3"), ("pandas", "2.2.2", "3"))
OF_SPARK = (("pyspark", "4.0", "5"), ("cloudpickle", "3", "4"))
"""As in setup.cfg; a test holds them together. The last number is the first version that nobody has tried."""

RIVALS = ("pyspark", "pyspark-client", "databricks-connect")
"""Each of these brings a package `pyspark`, and overwrites that of the others."""

COMMANDS = ("/eddy", "jobs/run_stream.py")
"""The programs whose users are told in one line, and see no traceback."""

FAILED = 2


def read_numbers(text: str) -> tuple[int, ...]:
    """Read the numbers of a version.

    >>> read_numbers("2.2.3.dev0"), read_numbers("4.0")
    ((2, 2, 3), (4, 0))
    """
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def find_installed(name: str) -> str | None:
    """Find which version of a package is installed; None if there is none, "" if it says not which."""
    return find_version(name) or ("" if find_spec(name) else None)


def find_version(name: str) -> str:
    """Find the version of what was installed by a name; "" if nothing was."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def judge(name: str, low: str, high: str, found: str | None) -> str:
    """Say what is wrong with a version, and what to do; "" if nothing is.

    >>> judge("pyarrow", "21", "27", "18.1.0")
    'pyarrow: expected a version from 21 to below 27, got 18.1.0; pip install "pyarrow>=21,<27"'
    """
    if found == "" or (found is not None and read_numbers(low) <= read_numbers(found) < read_numbers(high)):
        return ""
    bounds = f"{name}>={low},<{high}"
    return f'{name}: expected a version from {low} to below {high}, got {found or "none"}; pip install "{bounds}"'


def find_old() -> Iterator[str]:
    """Find what is too old or missing. What is too new may run: `eddy doctor` tells of it."""
    ours = ".".join(map(str, sys.version_info[:3]))
    if read_numbers(ours) < read_numbers(PYTHON):
        yield f"Python: expected {PYTHON} or newer, got {ours} at {sys.executable}; install a newer one"
        return
    for name, low, high in REQUIRED:
        found = find_installed(name)
        if not found or read_numbers(found) < read_numbers(low):
            told = judge(name, low, high, found)
            if told:
                yield told


def find_rivals() -> str:
    """Find several Sparks that overwrite each other, and say what to do; "" if there is one at most."""
    found = {name: number for name in RIVALS if (number := find_version(name))}
    if len(found) < 2:
        return ""
    there = " and ".join(f"{name} {number}" for name, number in found.items())
    return (
        f"Spark: expected one of {', '.join(RIVALS)}, got {there}, which overwrite each other's files; "
        f"pip uninstall {' '.join(found)}, and install the one that is meant"
    )


def find_strange_home() -> str:
    """Find a Spark at SPARK_HOME that is not the one of the installed pyspark; "" if there is none."""
    ours, theirs = find_imported_spark(), find_home_version()
    if not ours or not theirs or read_numbers(ours)[:2] == read_numbers(theirs)[:2]:
        return ""
    return (
        f"Spark: expected one version, got pyspark {ours} and Spark {theirs} at SPARK_HOME "
        f'"{os.environ["SPARK_HOME"]}"; unset SPARK_HOME, or pip install "pyspark=={theirs}"'
    )


def judge_spark() -> str:
    """Say what is wrong with the Spark that is installed, and what to do; "" if nothing is."""
    return judge(*OF_SPARK[0], find_imported_spark()) or find_rivals() or find_strange_home()


def find_imported_spark() -> str:
    """Find the version of the pyspark that would be imported, wherever it is from; "" if it says none."""
    spec = find_spec("pyspark")
    file = Path(*(spec.submodule_search_locations or ()), "version.py") if spec else Path()
    found = re.search(r"""^__version__.*=\s*["'](.+)["']""", file.read_text("utf-8"), re.M) if file.is_file() else None
    return found[1] if found else ""


def find_home_version() -> str:
    """Find the version of the Spark at SPARK_HOME by its files; "" if there is none."""
    jars = Path(os.environ.get("SPARK_HOME", "nowhere"), "jars")
    found = next(iter(sorted(jars.glob("spark-core_*.jar"))), None)
    return found.stem.rpartition("-")[2] if found else ""


def check_versions() -> None:
    """Refuse what is too old for us to be imported."""
    told = "; ".join(find_old())
    # While Python looks for a module to start, its name is this.
    if told and (sys.argv[0] == "-m" or Path(sys.argv[0]).as_posix().endswith(COMMANDS)):
        sys.stderr.write(f"error: {told}\n")
        sys.exit(FAILED)
    if told:
        raise ImportError(f"eddy: {told}")
