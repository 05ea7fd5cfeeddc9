"""Runs the tests in two processes side by side: those that need Spark or a process of their own, and all others.

Most of the time a test on Spark leaves one core idle, and the tests without Spark use one. Only one of the two
starts a Spark session. `python -m tests.tiers` takes what pytest takes; each line says which of the two it comes from,
and each writes its own report, `build/tests-spark.xml` and `build/tests-plain.xml`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from tests.house import ROOT

TIERS = {"spark": "not long and (spark or process)", "plain": "not long and not spark and not process"}

PASSED, NONE = 0, 5
"""What pytest ends with when all tests have passed, and when there were none: all those asked for are of the other."""


def main(arguments: Sequence[str]) -> int:
    """Run both; what the worse of them ended with."""
    running = {name: _started(name, marks, arguments) for name, marks in TIERS.items()}
    tellers = [threading.Thread(target=_tell, args=(name, one.stdout)) for name, one in running.items()]
    for teller in tellers:
        teller.start()
    try:
        ended = [one.wait() for one in running.values()]
    except KeyboardInterrupt:  # which both have got too: they end, and say where they were
        ended = [one.wait() for one in running.values()]
    for teller in tellers:
        teller.join()
    return worse(ended)


def worse(ended: Sequence[int]) -> int:
    """The code of those that failed, or none if all did that ran any tests.

    >>> worse([0, 0]), worse([0, 1]), worse([5, 0]), worse([5, 5]), worse([-9, 0])
    (0, 1, 0, 5, 1)
    """
    if all(code == NONE for code in ended):
        return NONE
    failed = [code for code in ended if code not in (PASSED, NONE)]
    return max(1, *failed) if failed else PASSED


def _started(name: str, marks: str, arguments: Sequence[str]) -> subprocess.Popen[str]:
    report = f"--junitxml={ROOT / 'build' / f'tests-{name}.xml'}"
    command = [sys.executable, "-m", "pytest", "-m", marks, report, *arguments]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _tell(name: str, lines: IO[str] | None) -> None:
    for line in lines or ():
        sys.stdout.write(f"{name} | {line}")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
