"""Policies take turns at each workload.

This loop is the engine of every comparison; the bar shows how far it has come.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from eddy.comparison.answer import agree, digest, digest_routes, go_same_ways
from eddy.comparison.contender import CONTROL, Contender
from eddy.comparison.experiment import Experiment, SizedPoint, Skipped
from eddy.comparison.journal import Journal, Record, Trace, trace
from eddy.comparison.measures import (
    measure,
    output_rate,
    quickest,
    regret_after,
    rows_to_gain,
    sum_quickest,
    time_over_written,
)
from eddy.comparison.pattern_regret import compare_patterns, count_by_pattern, sum_up_patterns
from eddy.comparison.run_key import key
from eddy.comparison.runner import Runner, RunPolicy
from eddy.comparison.workload import CHANGED_AT, Workload
from eddy.live_line import LiveLine

MeasuredRow = dict[str, Any]
WIDTH = 24
"""Characters of the bar: with the counts and a name it fits into a line of a terminal."""

MOST_PROGRESS_LINES = 10
"""Lines where there is no terminal: enough to see that it moves, too few to fill a log."""

MINUTE = 60


@dataclass(frozen=True, kw_only=True)
class Traced:
    """A policy's course on a workload, and the workload's changes."""

    workload: str
    policy: str
    drift_points: Sequence[int]
    trace: Trace


class Turns:
    """Runs every policy on every workload and seed.

    Each run that applies gives a row. The policies take turns at each workload, in an order that is drawn anew every
    time, so that whatever else the machine is doing hits all of them alike. All must give the same answer. The first
    run of each policy on a workload is also followed over time.
    """

    def __init__(self, experiment: Experiment, runner: Runner, journal: Journal, bar: Bar) -> None:
        self._experiment = experiment
        self._runner = runner
        self._journal = journal
        self._bar = bar
        self.rows: list[MeasuredRow] = []
        self.traced: list[Traced] = []
        self.patterns: list[MeasuredRow] = []

    def run(self, skipped: Sequence[Skipped], machine: MeasuredRow) -> None:
        """Run what has not been run before."""
        for setup in self._experiment.setups:
            out = [skip.contender for skip in skipped if skip.point is setup.point]
            contenders = self._experiment.add_control(without=out)
            for seed in self._experiment.seeds:
                self._point(setup, contenders, seed, machine)

    def _point(self, setup: SizedPoint, contenders: Sequence[Contender], seed: int, machine: MeasuredRow) -> None:
        """Run all policies on one workload, as often as asked."""
        workload = setup.workload(seed, self._experiment.rows)
        settings = {"rows": self._experiment.rows, "runner": self._runner.name, **self._runner.describe(), **machine}
        common = {**settings, "workload": setup.describe(), "seed": seed}
        chance = np.random.default_rng([seed, len(contenders)])
        records: dict[str, list[Record]] = {contender.label: [] for contender in contenders}
        with self._runner.prepare(workload) as run:
            for repeat in range(self._experiment.repeats):
                for which in chance.permutation(len(contenders)):
                    contender = contenders[which]
                    name = key({**common, **contender.describe(), "repeat": repeat})
                    turn = _Turn(
                        name, setup, contender, seed, followed=not repeat and seed == self._experiment.seeds[0]
                    )
                    records[contender.label].append(self._turn(turn, workload, run, records))
        self._add(setup, contenders, workload, seed, records)

    def _turn(self, turn: _Turn, workload: Workload, run: RunPolicy, before: dict[str, list[Record]]) -> Record:
        """Make one run, or take what is known of it."""
        found = self._journal.find(turn.key)
        record = turn.run(workload, run) if found is None else found
        answers = [(label, own[0].answer) for label, own in before.items() if own]
        if answers:
            agree(answers[0], (turn.contender.label, record.answer), turn.setup.label)
        for other in self._experiment.contenders:
            if before.get(other.label) and turn.contender.differs_in_index(other):
                known = before[other.label][0]
                go_same_ways((other.label, known.routes), (turn.contender.label, record.routes), turn.setup.label)
        if found is None:
            self._journal.add(record)
        self._bar.step(f"{turn.contender.label} on {turn.setup.label}, seed {turn.seed}", kept=found is not None)
        return record

    def _add(
        self,
        setup: SizedPoint,
        contenders: Sequence[Contender],
        workload: Workload,
        seed: int,
        records: dict[str, list[Record]],
    ) -> None:
        """Add the rows of a workload and seed.

        What was followed over time is added too.
        """
        shares = self._shares(contenders, workload, list(records.values()))
        patterns = self._compare_patterns(contenders, workload, list(records.values()))
        for contender, share, by_pattern in zip(contenders, shares, patterns, strict=True):
            own = records[contender.label]
            self.patterns += [self._row(setup, contender, {"seed": seed, **row}) for row in by_pattern]
            whole = {**share, **sum_up_patterns(by_pattern)}
            quickest = {"quiet_seconds": sum_quickest([record.seconds for record in own])}
            for repeat, record in enumerate(own):
                figures = {"seed": seed, "repeat": repeat, **whole, **record.figures, **quickest}
                self.rows.append(self._row(setup, contender, figures))
            if own[0].trace is not None and contender.role != CONTROL:
                self.traced.append(
                    Traced(
                        workload=setup.label,
                        policy=contender.label,
                        drift_points=workload.drift_points,
                        trace=own[0].trace,
                    )
                )

    def _shares(
        self, contenders: Sequence[Contender], workload: Workload, records: Sequence[Sequence[Record]]
    ) -> list[dict[str, float]]:
        """Work out the figures that are of several policies at once."""
        seconds = [[record.seconds for record in own] for own in records]
        found: list[dict[str, float]] = [{} for _ in records]
        if self._experiment.totals:
            found = output_rate(seconds, [own[0].results for own in records])
        written = next((place for place, contender in enumerate(contenders) if contender.is_written_order), None)
        # Elsewhere this is what "time %" says already.
        if written is not None and any("regret" in own[0].figures for own in records):
            over = time_over_written(seconds, written)
            found = [{**one, **other} for one, other in zip(found, over, strict=True)]
        courses = [(own[0].rows, own[0].calls) for own in records]
        roles = [contender.role for contender in contenders]
        late = rows_to_gain(workload.drift_points, courses, roles)
        regret = self._regret(workload, records, roles)
        return [{**one, **two, **three} for one, two, three in zip(found, late, regret, strict=True)]

    @staticmethod
    def _regret(
        workload: Workload, records: Sequence[Sequence[Record]], roles: Sequence[str]
    ) -> list[dict[str, float]]:
        """Work out what designs cost on what has changed, where the workload says since when it has."""
        start, rows = workload.facts.get(CHANGED_AT), records[0][0].rows
        if start is None or any(len(one.looked) != len(rows) for own in records for one in own):
            return [{} for _ in records]
        looked = [own[0].looked for own in records]
        seconds = [quickest([record.seconds for record in own]).tolist() for own in records]
        return regret_after(start, rows, {"seconds": seconds, "candidates": looked}, roles)

    @staticmethod
    def _compare_patterns(
        contenders: Sequence[Contender], workload: Workload, records: Sequence[Sequence[Record]]
    ) -> list[list[MeasuredRow]]:
        """Work out the same by access pattern."""
        start = workload.facts.get(CHANGED_AT)
        if start is None:
            return [[] for _ in records]
        roles = [contender.role for contender in contenders]
        return compare_patterns(start, records[0][0].rows, [own[0].by_pattern for own in records], roles)

    def _row(self, setup: SizedPoint, contender: Contender, figures: MeasuredRow) -> MeasuredRow:
        """Write a run as a flat row."""
        named: MeasuredRow = {"experiment": self._experiment.name, "workload": setup.label, "policy": contender.label}
        named |= {"role": contender.role, "runner": self._runner.name}
        row = named | setup.sizes | setup.varied | figures
        for where, more in self._experiment.marks:
            if all(row.get(name) == value for name, value in where.items()):
                row |= more
        return row


@dataclass(frozen=True)
class _Turn:
    """A run that is due."""

    key: str
    setup: SizedPoint
    contender: Contender
    seed: int
    followed: bool

    def run(self, workload: Workload, run: RunPolicy) -> Record:
        """Run it."""
        gc.collect()
        batch_rows = self.contender.batch_rows or self.setup.batch_rows
        done = run(
            self.contender.choice(workload), batch_rows, self.seed, self.contender.index, self.contender.cache_memory
        )
        batches = done.report.batches()
        figures = measure(workload, done.results.num_rows, done.report)
        looked = done.report.indexes().set_index("batch")["candidates"]
        cpu = {} if done.cpu_seconds is None else {"cpu_seconds": done.cpu_seconds}
        return Record(
            key=self.key,
            answer=digest(done.results),
            figures={**figures, "batch_rows": batch_rows, "wall_seconds": done.wall_seconds, **cpu},
            seconds=batches["seconds"].tolist(),
            results=batches["results"].tolist(),
            trace=trace(done.report) if self.followed else None,
            rows=batches["rows"].tolist(),
            calls=batches["routing_calls"].tolist(),
            routes=digest_routes(done.report),
            looked=looked.groupby("batch").sum().reindex(batches["batch"], fill_value=0).tolist(),
            by_pattern=count_by_pattern(done.report) if CHANGED_AT in workload.facts else {},
        )


class Bar:
    """A bar on a terminal or in a notebook, and plain lines elsewhere.

    It is nothing if it is to be quiet.
    """

    def __init__(self, total: int, *, quiet: bool = False, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr
        self._quiet = quiet
        self._live = self._out.isatty()
        self._line = LiveLine() if out is None else None
        self._total = total
        self._done = self._kept = self._width = 0
        self._started = time.monotonic()

    def step(self, what: str, *, kept: bool = False) -> None:
        """A run is over, or was there before."""
        self._done += 1
        self._kept += kept
        if self._quiet:
            return
        if self._line is not None and self._line.is_live:
            self._line.show(lambda: f"[{self._bar()}] {self._counts()}  {what}", last=self._done == self._total)
            return
        if self._live:
            line = f"[{self._bar()}] {self._counts()}  {what}"
            self._out.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        elif self._done * MOST_PROGRESS_LINES // self._total > (self._done - 1) * MOST_PROGRESS_LINES // self._total:
            self._out.write(f"{self._counts()}  {what}\n")
        self._out.flush()

    def close(self) -> None:
        """Leave the line of the bar."""
        if self._live and self._width:
            self._out.write("\n")
            self._out.flush()

    def _bar(self) -> str:
        return f"{'#' * (self._done * WIDTH // self._total):-<{WIDTH}}"

    def _counts(self) -> str:
        own = self._done - self._kept
        left = (time.monotonic() - self._started) / own * (self._total - self._done) if own else 0
        soon = f"{left / MINUTE:.0f} min left" if left > MINUTE else f"{left:.0f} s left"
        kept = f", {self._kept} kept" if self._kept else ""
        return f"{self._done}/{self._total} runs{kept}, {soon}"
