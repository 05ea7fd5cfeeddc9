"""Chooses the Python that Spark starts its workers with.

Spark knows it by name: that in PYSPARK_PYTHON when the session starts, else `python3`, which is then the first one on
the path of the machine that a worker is on. The name goes along with each function, when the function is given to
Spark. So where nobody has named one, and workers are on this machine, ours can go along with our functions. With Spark
Connect it is the server that decides.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark import SparkFiles

from eddy.errors import QueryError, quote, warn

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PYTHON_VARIABLE = "PYSPARK_PYTHON"

DEFAULT_PYTHONS = ("", "python3")
"""Spark's names of the workers' Python where nobody names one."""

NEEDED_MODULES = ("eddy", "pandas", "pyarrow", "numpy", "cloudpickle")

QUESTION = (
    "import sys; from importlib.util import find_spec; "
    "print('%d.%d' % sys.version_info[:2], *[name for name in sys.argv[1:] if find_spec(name) is None])"
)
"""Asked of another Python: its version, and which of the modules that are named it does not find."""

ANSWER_SECONDS = 60
"""Seconds that another Python may take to answer; a machine with much to do starts one in ten."""

VERSION = "{}.{}".format(*sys.version_info[:2])


@contextmanager
def suit_workers(spark: SparkSession, who: str = "attach") -> Iterator[None]:
    """Let workers run a Python that has the needed modules; errors begin with who asks for it."""
    context: SparkContext | None = getattr(spark, "_sc", None)  # Spark Connect has none
    if context is None or not sys.executable:
        yield
        return
    named, here = context.pythonExec, str(context.master).startswith("local")
    if os.environ.get(PYTHON_VARIABLE) or named not in DEFAULT_PYTHONS:
        if here:
            _check(named, _make_environment(context), who)
    elif here:
        context.pythonExec = sys.executable
    else:
        warn(
            f'{who}: {PYTHON_VARIABLE} is not set, so workers start the first "{DEFAULT_PYTHONS[-1]}" on the path of '
            f"their machines; it needs to be Python {VERSION} and to find {quote(NEEDED_MODULES)}; name one that does "
            "before the session starts"
        )
    try:
        yield
    finally:
        context.pythonExec = named


def find_fault(named: str, environment: Mapping[str, str]) -> str:
    """Find the fault of a Python of this machine, if any.

    >>> find_fault(sys.executable, {})
    ''
    >>> find_fault("no-such-python", {})
    'is not there'
    """
    program = shutil.which(named)
    if program is None:
        return "is not there"
    if os.path.abspath(program) == os.path.abspath(sys.executable):
        return ""
    try:
        asked = [program, "-c", QUESTION, *NEEDED_MODULES]
        said = subprocess.run(
            asked, env=environment, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not start: {error}"
    if said.returncode:
        return f"does not start: {(said.stderr.strip().splitlines() or ['it says nothing'])[-1]}"
    version, *missing = said.stdout.split()
    if version != VERSION:
        return f"is Python {version}, and this is {VERSION}"
    return f"does not find {quote(missing)}" if missing else ""


def _check(named: str, environment: Mapping[str, str], who: str) -> None:
    wrong = find_fault(named, environment)
    if wrong:
        raise QueryError(
            f'{who}: the Python that Spark starts its workers with, "{named}", {wrong}; set {PYTHON_VARIABLE} to '
            f'"{sys.executable}", or unset it, before the session starts'
        )


def _make_environment(context: SparkContext) -> dict[str, str]:
    """Make the environment of a worker on this machine.

    It also finds what --py-files has brought.
    """
    root = SparkFiles.getRootDirectory()
    sent = [os.path.join(root, name) for name in context._python_includes or ()]
    given = {**os.environ, **context.environment}
    places = [*sent, *(one.get("PYTHONPATH", "") for one in (context.environment, os.environ))]
    return {**given, "PYTHONPATH": os.pathsep.join(filter(None, places))}
