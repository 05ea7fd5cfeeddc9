"""The jars of a broker, of Spark's connector, of Delta and of Avro, by Maven: python -m tests.jobs.kafka.jars.

They are kept in build/kafka, below the versions that they are for, so Maven is asked once. It has a cache of its own,
out of which they come back after a `make clean`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.house import ROOT

PLACE = ROOT / "build" / "kafka"
DELTA = ROOT / "build" / "delta"
AVRO = ROOT / "build" / "avro"
POM = Path(__file__).with_name("pom.xml")
GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

BROKER = "4.3.1"
"""The newest broker that runs on Java 17; clients of every version since 2.1 may talk to it."""

CONNECTORS = ((pyspark.__version__, pyspark.__version__), ("4.2.0", "4.2.0"), ("4.2.0", "4.0.0"))
"""Versions of the connector and of its helper for logins, best first.

The connector has Spark's version. A repository may be behind Python's packages, or lack a file: then these older ones
do, which were tried with Spark 4.3.0.
"""

AVROS = (pyspark.__version__, "4.1.1")
"""Versions of Spark's functions for Avro, best first; the second was tried with Spark 4.3.0."""

PATIENCE = 150
"""Seconds for all of it, from empty caches: five times what it takes, so that what hangs is an error."""

QUIET = ("-B", "-q", "-Dstyle.color=never", "-Dmaven.wagon.http.retryHandler.count=1", "-Dmaven.wagon.rto=30000")
"""Nothing but errors; one more try, and half a minute for a file to begin: no network is found out at once."""

_REASON = re.compile(r"\[ERROR\] (.+?)(?: -> \[Help 1\])?$", re.MULTILINE)


class Missing(Exception):
    """The jars cannot be had; says why."""


@dataclass(frozen=True, kw_only=True)
class Jars:
    """Files: for a broker of its own, and for Spark's --jars."""

    broker: tuple[Path, ...]
    connector: tuple[Path, ...]


def jars(place: Path = PLACE) -> Jars:
    """Those that there are, or else fetched now."""
    end = time.monotonic() + PATIENCE
    broker = kept(place / f"broker-{BROKER}", "broker", [{"broker": BROKER}], end)
    asked = [{"connector": connector, "tokens": tokens} for connector, tokens in CONNECTORS]
    connector = kept(place / f"connector-for-spark-{pyspark.__version__}", "connector", asked, end)
    return Jars(broker=broker, connector=connector)


def delta(spark: str, version: str, place: Path = DELTA) -> tuple[Path, ...]:
    """Those of Delta for a version of Spark; what else it asks for, Spark has."""
    groups = {"includeGroupIds": "io.delta,io.unitycatalog"}
    asked = {"spark": spark, "delta": version, **groups}
    return kept(place / f"{version}-for-spark-{spark}", "delta", [asked], time.monotonic() + PATIENCE)


def avro(place: Path = AVRO) -> tuple[Path, ...]:
    """The one of Spark's functions for Avro; an older one does where there is none of this Spark yet."""
    asked = [{"avro": version, "excludeTransitive": "true"} for version in AVROS]
    return kept(place / f"for-spark-{pyspark.__version__}", "avro", asked, time.monotonic() + PATIENCE)


def kept(folder: Path, profile: str, asked: list[dict[str, str]], end: float) -> tuple[Path, ...]:
    """The jars of a profile, in the first of the versions that can be had."""
    reasons = []
    for versions in asked:
        if folder.exists():
            break
        try:
            _fetch(folder, profile, versions, end)
        except Missing as error:
            reasons.append(str(error))
    if not folder.exists():
        raise Missing("; ".join(reasons))
    return tuple(sorted(folder.glob("*.jar")))


def _fetch(folder: Path, profile: str, versions: Mapping[str, str], end: float) -> None:
    """Have Maven put the jars into a folder, which is there only when all of them are."""
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing("mvn: not found; install Maven (Debian: apt install maven; macOS: brew install maven)")
    given = [f"-D{name}={value}" for name, value in versions.items()]
    what = f"{profile} {' '.join(versions.values())}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        new, log = Path(place) / "jars", Path(place) / "log"
        asked = [*QUIET, "-f", str(POM), "-P", profile, *given, f"-DoutputDirectory={new}", "-DincludeScope=runtime"]
        ended = _ended([maven, *asked, GOAL], log, end)
        if ended:
            found = _REASON.search(log.read_text("utf-8", errors="replace"))
            raise Missing(f"{what}: {found[1] if found else f'Maven ended with {ended}'}")
        # Somebody else may have been quicker: then theirs stay.
        with suppress(OSError):
            new.rename(folder)


def _ended(command: list[str], log: Path, end: float) -> int:
    """The exit code of a program that may take until the end and not longer."""
    # It writes into a file: a pipe would be waited for as long as any child of its own has it.
    with log.open("w") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
        try:
            return process.wait(max(end - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Missing(f"Maven was not done after {PATIENCE} seconds") from None


def main() -> int:
    """Fetch them, and say where they are."""
    try:
        found = jars()
    except Missing as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"a broker: {found.broker[0].parent}\n")
    sys.stdout.write(f"for spark-submit: --jars {','.join(map(str, found.connector))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
