"""The progress of a streaming query, for people and for logs."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from py4j.protocol import Py4JError

from eddy.jobs.config.places import join_key
from eddy.observe import wire
from eddy.spark.progress import OBSERVED

BEGINNING = "1970-01-01T00:00:00.000Z"
"""The watermark as long as no row of some stream has come."""


class Teller:
    """Writes a line of fields for each micro-batch.

    When it is live, each line replaces the one before.

    It cannot see whether there is a terminal: spark-submit puts itself between.
    """

    def __init__(self, *, quiet: bool, live: bool, out: TextIO | None = None, total: Total | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._quiet = quiet
        self._live = live
        self._seen = -1
        self._line = ""
        self._shown = ""
        self._total = total or Total()
        self._sums = Sums()

    def go_on(self, total: Total) -> None:
        """Count from what earlier starts have read."""
        self._total = total

    def tell(self, progress: Mapping[str, Any]) -> None:
        """Tell of a micro-batch, once."""
        if progress["batchId"] <= self._seen or is_over(progress) != progress["batchId"]:
            return
        self._seen = progress["batchId"]
        sums = sums_of(progress)
        self._sums.add(sums)
        self._line = fields(progress, self._total.add(progress["batchId"], progress["numInputRows"]), sums)
        if self._live:
            self._show(self._line)
        else:
            self._write(f"{self._line}\n")

    def say_begun(self, batch: int) -> None:
        """Say that a micro-batch has begun, if it is live.

        The first ones take their time.
        """
        if self._live:
            self._show(f"{self._line} now={batch}".lstrip())

    def say(self, text: str) -> None:
        """Something that is no progress, on a line of its own."""
        self._write(f"\n{text}\n" if self._shown else f"{text}\n")
        self._shown = ""

    def end(self, text: str) -> None:
        """Say the last line, with the sums of this start.

        It is said also when it is quiet.
        """
        self._quiet = False
        self.say("; ".join(filter(None, [text, self._sums.text(whole=True)])))

    def _show(self, line: str) -> None:
        """Put a line in the place of the last one.

        It is cut to the width of the terminal: a longer one would stay.
        """
        line = line[: shutil.get_terminal_size().columns - 1]
        if line != self._shown:
            self._write(f"\r{line:<{len(self._shown)}}")
            self._shown = line

    def _write(self, text: str) -> None:
        if not self._quiet:
            self._out.write(text)
            self._out.flush()


def is_over(progress: Mapping[str, Any]) -> int:
    """The last micro-batch that is over; -1 before there is any.

    When nothing has come for a while, Spark tells of the micro-batch that is still to come.

    >>> is_over({"batchId": 3, "durationMs": {"latestOffset": 2, "addBatch": 9}})
    3
    >>> is_over({"batchId": 3, "durationMs": {"latestOffset": 2}})
    2
    """
    return int(progress["batchId"]) - ("addBatch" not in progress["durationMs"])


@dataclass
class Sums:
    """Rows and results, and rows that took no part, by stream.

    `told` says whether an eddy has told of them.
    """

    rows: int = 0
    results: int = 0
    late: Counter[str] = field(default_factory=Counter)
    bad: Counter[str] = field(default_factory=Counter)
    told: bool = False

    def add(self, other: Sums) -> None:
        """Count those of a micro-batch."""
        self.rows += other.rows
        self.results += other.results
        self.late += other.late
        self.bad += other.bad
        self.told |= other.told

    def text(self, *, whole: bool) -> str:
        """Write them as fields.

        The rows are there if it is about the whole run; those that took no part only if there are any.

        >>> Sums(rows=5, results=2, late=Counter(a=2, b=1), told=True).text(whole=True)
        'rows=5 results=2 late=3 late_in=a:2,b:1'
        """
        told = [f"rows={self.rows}"] if whole and self.rows else []
        told += [f"results={self.results}"] if self.told else []
        for name, counts in (("late", self.late), ("bad", self.bad)):
            if counts:
                listed = ",".join(f"{join_key((stream,))}:{count}" for stream, count in counts.items())
                told.append(f"{name}={counts.total()} {name}_in={listed}")
        return " ".join(told)


def sums_of(progress: Mapping[str, Any]) -> Sums:
    """Add up what the cells have told of a micro-batch."""
    found = Sums(rows=progress["numInputRows"])
    observed = (progress.get("observedMetrics") or {}).get(OBSERVED)
    if observed is None:
        return found
    found.told = True
    for report in map(json.loads, observed["reports"] or []):
        found.results += report["results"]
        for stream, count in wire.read_streams(report).items():
            found.late += Counter({stream: count.late})
            found.bad += Counter({stream: sum(count.bad.values())})
    return found


def fields(progress: Mapping[str, Any], total: str, sums: Sums) -> str:
    """Write a micro-batch as fields.

    >>> fields({"batchId": 3, "numInputRows": 20, "durationMs": {}, "eventTime": {}}, "80", Sums())
    'batch=3 rows=20 total=80 rows_per_second=0 seconds=0.00'
    """
    told = {
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "total": total,
        "rows_per_second": round(progress.get("processedRowsPerSecond") or 0),
        "seconds": f"{progress['durationMs'].get('triggerExecution', 0) / 1_000:.2f}",
    }
    listed = [*(f"{name}={value}" for name, value in told.items()), sums.text(whole=False)]
    if "watermark" in progress["eventTime"]:
        watermark = progress["eventTime"]["watermark"]
        listed.append(f"watermark={'none' if watermark == BEGINNING else watermark}")
    return " ".join(filter(None, listed))


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "eddy-rows.json"


class Note(Protocol):
    """A place where a text is kept."""

    def read(self) -> str:
        """Read the text; "" if there is none that can be read."""

    def write(self, text: str) -> None:
        """Keep a text in place of the one before.

        One that cannot be kept is let go.
        """


class InCheckpoint:
    """A file in a checkpoint, wherever Spark can write one."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._path = jvm.org.apache.hadoop.fs.Path(checkpoint, NAME)
        context: Any = spark._jsc
        self._files = self._path.getFileSystem(context.hadoopConfiguration())

    def read(self) -> str:
        """Read the text; "" if there is none."""
        try:
            opened = self._files.open(self._path)
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(opened, "UTF-8"))
            finally:
                opened.close()
        except Py4JError:
            return ""

    def write(self, text: str) -> None:
        """Keep a text."""
        try:
            opened = self._files.create(self._path, True)
            opened.write(bytearray(text, "utf-8"))
            opened.close()
        except Py4JError:
            return  # the number is for people, and no reason for a job to end


class Total:
    """The rows of all micro-batches so far."""

    def __init__(self, note: Note | None = None) -> None:
        self._note = note
        self._batch, self._rows, self._whole = -1, 0, True
        try:
            known = json.loads(note.read()) if note else {}
            self._batch, self._rows, self._whole = int(known["batch"]), int(known["rows"]), bool(known["whole"])
        except (ValueError, KeyError, TypeError):
            return

    def add(self, batch: int, rows: int) -> str:
        """Count a micro-batch; gives the rows of all so far.

        A "+" follows if some before were not counted.

        >>> total = Total()
        >>> total.add(0, 20), total.add(1, 20), total.add(3, 20)
        ('20', '40', '60+')
        """
        if batch > self._batch:
            self._whole = self._whole and batch == self._batch + 1
            self._batch, self._rows = batch, self._rows + rows
            if self._note:
                self._note.write(json.dumps({"batch": self._batch, "rows": self._rows, "whole": self._whole}))
        return f"{self._rows}{'' if self._whole else '+'}"
