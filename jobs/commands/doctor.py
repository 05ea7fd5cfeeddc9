"""eddy doctor: can jobs run here, and if not, what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eddy.jobs.commands.command import Command, add_choices, job_of
from eddy.jobs.config.config import Job
from eddy.kernels.choice import VARIABLE, choose_kernels
from eddy.observe.text import plural
from eddy.requirements import OF_SPARK, REQUIRED, find_installed, find_rivals, find_strange_home, judge
from eddy.spark.layout.planning import CELLS
from eddy.spark.session import PARTITIONS

JAVA = 17
"""The oldest Java that Spark 4 runs on."""

SLOW = 60
"""Seconds after which a program that only says its version is not working."""


@dataclass(frozen=True)
class Finding:
    """A check: what was looked at, the finding, a remedy.

    A finding may be all right.
    """

    what: str
    found: str
    cure: str = ""
    wrong: bool = True


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("conf", nargs="?", help="a job: hold its cells and partitions against the cores as well")
    add_choices(parser)


def run(chosen: Namespace) -> int:
    """Print every finding.

    The exit code says whether anything is wrong.
    """
    findings = [found for look in LOOKS for found in look()]
    findings += check_cells(job_of(chosen)) if chosen.conf else []
    for one in findings:
        print(f"{('WRONG' if one.wrong else 'odd') if one.cure else 'ok':<6} {one.what}: {one.found}")
        if one.cure:
            print(f"       {one.cure}")
    return 1 if any(one.cure and one.wrong for one in findings) else 0


def java() -> Iterator[Finding]:
    """Check that there is a Java, and that it is new enough."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else "java"
    how = "Debian: openjdk-17-jre-headless; macOS: brew install openjdk@17"
    cure = f"install Java {JAVA} or newer ({how}), or set JAVA_HOME"
    if shutil.which(program) is None:
        yield Finding("Java", f'no "{program}"', cure)
        return
    told = _said([program, "-version"])
    number = re.search(r'version "(\d+)', told)
    old = number is None or int(number[1]) < JAVA
    yield Finding("Java", told.splitlines()[0] if told else "says nothing", cure if old else "")


def python() -> Iterator[Finding]:
    """Check that the workers have the Python of the driver."""
    ours = ".".join(map(str, sys.version_info[:2]))
    named = os.environ.get("PYSPARK_PYTHON")
    if named is None:
        yield Finding("Python of workers", f"PYSPARK_PYTHON is not set; eddy run sets it to {sys.executable}")
        return
    if shutil.which(named) is None:
        yield Finding("Python of workers", f'no "{named}"', f"set PYSPARK_PYTHON to {sys.executable}, or unset it")
        return
    theirs = _said([named, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
    cure = "" if theirs == ours else f"set PYSPARK_PYTHON to a Python {ours}, such as {sys.executable}"
    yield Finding("Python of workers", f"{theirs} ({named}); the driver has {ours}", cure)
    missing = _said([named, "-c", "import pandas, pyarrow, numpy, cloudpickle"])
    cure = f"install them there: {named} -m pip install pandas pyarrow numpy cloudpickle" if missing else ""
    yield Finding("packages of workers", missing.strip().splitlines()[-1] if missing else "all there", cure)


def packages() -> Iterator[Finding]:
    """Check that packages have versions that were tested."""
    for name, low, high in (*OF_SPARK, *REQUIRED):
        found = find_installed(name)
        install = f'pip install "{name}>={low},<{high}"'
        if found is None:
            yield Finding(name, "not installed", f"install it: {install}")
            continue
        wrong = judge(name, low, high, found)
        yield Finding(name, found or "there", f"expected one from {low} to below {high}: {install}" if wrong else "")


def sparks() -> Iterator[Finding]:
    """Check that there is one Spark, and not two that are mixed up."""
    for wrong in filter(None, (find_rivals(), find_strange_home())):
        yield Finding("Sparks", "more than one", wrong)


def kernels() -> Iterator[Finding]:
    """Tell how joins are computed."""
    kernels, note = choose_kernels()
    cure = f'for joins in less time: pip install "eddy-spark[fast]", on every machine, or set {VARIABLE}=numpy'
    yield Finding("kernels", note or kernels.name, cure if note else "", wrong=False)


def cores() -> Iterator[Finding]:
    """Count the engines that can work at once."""
    number = os.cpu_count() or 1
    few = number > CELLS
    told = f"{number}; a job uses as many of them as it has cells, {CELLS} unless it says otherwise"
    yield Finding("cores", told, f"set engine.cells to {number} or more" if few else "", wrong=False)


def check_cells(job: Job) -> Iterator[Finding]:
    """Check that a job's cells keep its cores busy.

    And that the shuffle partitions do not stand in the way.
    """
    number, whose = _cores(job.spark.get("spark.master", "local[*]"))
    cells = job.engine["cells"] or CELLS
    asked = job.spark.get(PARTITIONS, str(cells))
    if not asked.isdecimal():
        yield Finding("cells and partitions", f'{PARTITIONS} is "{asked}"', "set it to a whole number, or leave it out")
        return
    partitions = int(asked)
    told = f"{plural(cells, 'cell')} in {plural(partitions, 'partition')}, on {plural(number, 'core')} {whose}"
    cures = []
    if cells < number:
        cures.append(f"{plural(number - cells, 'core')} will have no cell to work for: set engine.cells to {number}")
    if partitions < min(cells, number):
        cures.append(
            f'cells of one partition wait for each other: leave "{PARTITIONS}" out, and it is that of the cells'
        )
    if partitions > cells:
        cures.append(f"{plural(partitions - cells, 'partition')} will be empty, and cost time in every micro-batch")
    yield Finding("cells and partitions", told, "; ".join(cures), wrong=False)


def _cores(master: str) -> tuple[int, str]:
    """Count the cores of a master, if its name tells."""
    asked = re.fullmatch(r"local(?:\[(\d+|\*).*\])?", master)
    if asked is None:
        return os.cpu_count() or 1, "of this machine (count those of the executors)"
    if asked[1] in (None, "*"):
        return (os.cpu_count() or 1) if asked[1] else 1, "of this machine"
    return int(asked[1]), f'of "{master}"'


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SLOW, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr


LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (java, python, packages, sparks, kernels, cores)

COMMAND = Command(arguments=arguments, run=run)
