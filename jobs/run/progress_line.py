"""The progress of a streaming query, for people and for logs."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from py4j.protocol import Py4JError

from eddy.errors import clip
from eddy.jobs.config.config import Job, write_stated
from eddy.jobs.config.places import join_key
from eddy.jobs.run.spark_files import SparkFiles
from eddy.observe import wire
from eddy.observe.insight import Decision
from eddy.spark.monitoring.news import BEGINNING, NewDecisions
from eddy.spark.progress import NOTE, OBSERVED

MOST_DECISIONS = 3
"""Decisions of a micro-batch that are told, each on a line: with many cells there may be many at once."""

LONGEST_REASON = 160
"""Characters of a reason in a log."""


WIDTH = 30
"""Characters of a bar."""

TENTHS = 10
"""Lines that tell of one pass where nobody watches."""


def write_bar(done: int, whole: int) -> str:
    """Write a bar of tasks.

    >>> write_bar(1, 4)
    '[#######-----------------------] 1/4 tasks'
    """
    return f"[{'#' * (done * WIDTH // whole):-<{WIDTH}}] {done}/{whole} tasks"


class Teller:
    """Writes a line of fields for each micro-batch.

    When it is live, each line replaces the one before.

    It cannot see whether there is a terminal: spark-submit puts itself between.
    """

    def __init__(self, *, quiet: bool, live: bool, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._quiet = quiet
        self._live = live
        self._seen = -1
        self._line = ""
        self._shown = ""
        self._total = Total()
        self._sums = Sums()
        self._decisions = NewDecisions()

    def begin(self, job: Job) -> None:
        """Say what was given, a line for each value."""
        for line in write_stated(job):
            self.say(line)

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
        own = fields(progress, self._total.add(progress["batchId"], progress["numInputRows"]), sums)
        self._line = " ".join(filter(None, [own, self._sums.adapting()]))
        if self._live:
            self._show(self._line)
        else:
            self._write(f"{self._line}\n")
        for line in list_decisions(self._decisions, read_reports(progress)):
            self._write_line(line)

    def say_begun(self, batch: int) -> None:
        """Say that a micro-batch has begun, if it is live.

        The first ones take their time.
        """
        if self._live:
            self._show(f"{self._line} now={batch}".lstrip())

    def show_tasks(self, done: int, whole: int) -> None:
        """Show how many tasks of one pass are over: as a bar if it is live, and else in lines, one for each tenth."""
        if not whole:
            return
        if self._live:
            self._show(write_bar(done, whole))
        elif done * TENTHS // whole != self._seen:
            self._seen = done * TENTHS // whole
            self._write(f"tasks={done}/{whole}\n")

    def say(self, text: str) -> None:
        """Something that is no progress, on a line of its own."""
        self._write_line(text)

    def _write_line(self, text: str) -> None:
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

    `told` says whether an eddy has told of them. Of queries that are answered together, `queries` has the results of
    each, and a stream is told with its query, as in "alerts.orders". `account` has the seconds of a policy that counts
    what adapting costs: spent, those that the written order would have taken, and saved.
    """

    rows: int = 0
    results: int = 0
    queries: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    bad: Counter[str] = field(default_factory=Counter)
    told: bool = False
    account: dict[str, float] = field(default_factory=dict)

    def add(self, other: Sums) -> None:
        """Count those of a micro-batch."""
        self.rows += other.rows
        self.results += other.results
        self.queries += other.queries
        self.late += other.late
        self.bad += other.bad
        self.told |= other.told
        self.pay(other.account)

    def pay(self, account: Mapping[str, float]) -> None:
        """Count the seconds of an account."""
        for name, seconds in account.items():
            self.account[name] = self.account.get(name, 0.0) + seconds

    def text(self, *, whole: bool) -> str:
        """Write them as fields.

        The rows are there if it is about the whole run; those that took no part only if there are any.

        >>> Sums(rows=5, results=2, late=Counter(a=2, b=1), told=True).text(whole=True)
        'rows=5 results=2 late=3 late_in=a:2,b:1'
        """
        told = [f"rows={self.rows}"] if whole and self.rows else []
        told += [f"results={self.results}"] if self.told else []
        told += [f"results_of={_list_counts(self.queries)}"] if self.queries else []
        for name, counts in (("late", self.late), ("bad", self.bad)):
            if counts:
                told.append(f"{name}={counts.total()} {name}_in={_list_counts(counts)}")
        return " ".join([*told, *filter(None, [self.adapting() if whole else ""])])

    def adapting(self) -> str:
        """Write the account as a field; "" without one.

        Regret is what was spent over the written order.

        >>> Sums(account={"spent": 9.0, "written": 12.0, "saved": 3.5}).adapting()
        'adapting=spent:9,written:12,saved:3.5,regret:-25.0%'
        """
        if not self.account:
            return ""
        spent, written = self.account["spent"], self.account["written"]
        told = [f"{name}:{round(seconds, 3):.8g}" for name, seconds in self.account.items()]
        told += [f"regret:{(spent - written) / written:+.1%}"] if written > 0 else []
        return f"adapting={','.join(told)}"


def _list_counts(counts: Mapping[str, int]) -> str:
    """Write counts by the names of streams or queries; a stream of one of several queries is told as TOML would."""
    return ",".join(f"{join_key(tuple(name.split('.')))}:{count}" for name, count in counts.items())


ACCOUNT = ("spent", "written", "saved")
"""The seconds of an account that a line has room for."""


def list_decisions(new: NewDecisions, reports: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Write new decisions as fields, a line for each; of many, the first and how many more."""
    cells: dict[int, tuple[bool, list[Decision]]] = {}
    for report in reports:
        accounts, decisions = cells.get(report["cell"], (False, []))
        own = [replace(one, stream=_name_stream(report, one.stream)) for one in wire.read_decisions(report)]
        cells[report["cell"]] = (accounts or "regrets" in report, [*decisions, *own])
    found = new.find(cells)
    for cell, decision in found[:MOST_DECISIONS]:
        by = f" policy={decision.policy}" if decision.policy else ""
        reason = json.dumps(clip(decision.reason, LONGEST_REASON), ensure_ascii=False)
        yield f"decided stream={join_key(tuple(decision.stream.split('.')))} cell={cell}{by} reason={reason}"
    if len(found) > MOST_DECISIONS:
        yield f"decided more={len(found) - MOST_DECISIONS}"


def read_reports(progress: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read what each cell has told of a micro-batch."""
    observed = (progress.get("observedMetrics") or {}).get(OBSERVED)
    told = [] if observed is None else observed["reports"] or []
    return [json.loads(report) for report in told if not report.startswith(NOTE)]


def _name_stream(report: Mapping[str, Any], stream: str) -> str:
    """Name a stream of a cell's report: with its query, where several are answered together."""
    query = report.get("query")
    return stream if query is None else f"{query}.{stream}"


def sums_of(progress: Mapping[str, Any]) -> Sums:
    """Add up what the cells have told of a micro-batch."""
    found = Sums(rows=progress["numInputRows"])
    found.told = (progress.get("observedMetrics") or {}).get(OBSERVED) is not None
    for report in read_reports(progress):
        found.results += report["results"]
        if report.get("query") is not None:
            found.queries += Counter({report["query"]: report["results"]})
        for regret in wire.read_regrets(report):
            found.pay({name: getattr(regret, name) for name in ACCOUNT})
        for name, count in wire.read_streams(report).items():
            stream = _name_stream(report, name)
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
        self._files, self._name = SparkFiles(spark), f"{checkpoint}/{NAME}"

    def read(self) -> str:
        """Read the text; "" if there is none."""
        try:
            return self._files.read(self._name)
        except Py4JError:
            return ""

    def write(self, text: str) -> None:
        """Keep a text; the number is for people, and no reason for a job to end."""
        with suppress(Py4JError):
            self._files.write(self._name, text, replace=True)


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
