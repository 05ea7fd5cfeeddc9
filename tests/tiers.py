"""Runs tests on two cores: `python -m tests.tiers all` every test, `check` the quick ones, `soak` what takes long.

`all` runs two tiers side by side: the tests that need Spark or a process of their own, which leave one core idle most
of the time, and all others, with a few that start a session in a process of theirs. `check` runs the tests that need
neither, in two halves. Style and types are looked at beside both. `soak` puts bugs in beside all other long tests. What
follows is what pytest takes; each line says where it comes from, and each run of pytest writes a report, such as
`build/tests-spark.xml`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from tests.house import ROOT

QUICK = "not long and not spark and not process"
BUGS = "tests/test_the_tests.py"
LANES: dict[str, dict[str, tuple[str, ...]]] = {
    "all": {
        "spark": ("-m", "not long and not apart and (spark or process)"),
        "plain": ("-m", "not long and (apart or (not spark and not process))"),
    },
    "check": {"first": ("-m", QUICK, "--part", "1/2"), "second": ("-m", QUICK, "--part", "2/2")},
    "soak": {"bugs": ("-m", "long", BUGS), "long": ("-m", "long", f"--ignore={BUGS}")},
}
"""What runs side by side, and what pytest is given for it."""

STYLE = {
    "style": (sys.executable, "-m", "ruff", "check", "--quiet", "."),
    "format": (sys.executable, "-m", "ruff", "format", "--check", "."),
    "types": (sys.executable, "-m", "mypy", "--no-error-summary"),
}

FETCH = (sys.executable, "-m", "tests.jobs.kafka.jars")
"""In a fresh clone Maven takes one or two minutes, most of it waiting: long before the tests with a broker begin."""

PASSED, NONE = 0, 5
"""What pytest ends with when all tests have passed, and when there were none: all those asked for are of the other."""


def main(arguments: Sequence[str]) -> int:
    """Run everything that a name stands for, side by side; what the worst of it ended with."""
    what, *more = arguments
    whole = what == "all" and all(word.startswith("--") for word in more)
    fetching = _started(FETCH) if whole else None
    running = {name: _started(command) for name, command in commands(what, more).items()}
    tellers = [threading.Thread(target=_tell, args=(name, one.stdout)) for name, one in running.items()]
    for teller in tellers:
        teller.start()
    try:
        ended = [one.wait() for one in running.values()]
    except KeyboardInterrupt:  # which all of them have got too: they end, and say where they were
        ended = [one.wait() for one in running.values()]
    for teller in tellers:
        teller.join()
    if fetching is not None:  # it is long over, and the tests that need it have said what is missing
        fetching.communicate()
    codes = dict(zip(running, ended, strict=True))
    return max(worse([codes[name] for name in codes if name not in STYLE]), *(codes.get(name, 0) for name in STYLE))


def worse(ended: Sequence[int]) -> int:
    """The code of those that failed, or none if all did that ran any tests.

    >>> worse([0, 0]), worse([0, 1]), worse([5, 0]), worse([5, 5]), worse([-9, 0])
    (0, 1, 0, 5, 1)
    """
    if all(code == NONE for code in ended):
        return NONE
    failed = [code for code in ended if code not in (PASSED, NONE)]
    return max(1, *failed) if failed else PASSED


def commands(what: str, more: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The commands of `all`, `check` or `soak`, by the name that their lines begin with.

    >>> list(commands("all", [])), list(commands("soak", []))
    (['style', 'format', 'types', 'spark', 'plain'], ['bugs', 'long'])
    """
    if what not in LANES:
        raise SystemExit(f'tests.tiers: expected one of {", ".join(LANES)}, got "{what}"')
    tests = {name: _tests(name, given, more) for name, given in LANES[what].items()}
    return tests if what == "soak" else {**STYLE, **tests}


def _tests(name: str, given: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    report = f"--junitxml={ROOT / 'build' / f'tests-{name}.xml'}"
    return (sys.executable, "-m", "pytest", *given, report, *more)


def _started(command: Sequence[str]) -> subprocess.Popen[str]:
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
