"""Policies side by side: python -m jobs.compare_policies CONF --json OUT."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.errors import EddyError, EngineError, QueryError
from jobs.experiment import Contender, Experiment, Point, load
from jobs.improvement import improvement
from jobs.measures import measured, produced
from jobs.workload import Workload

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A policy that does not apply to a workload, and why."""

    contender: Contender
    point: Point
    reason: str

    def __str__(self) -> str:
        return f"skipped: {self.contender.label} on {self.point.label}: {self.reason}"


def compare(experiment: Experiment) -> tuple[list[Row], list[Skipped]]:
    """Run every policy that applies on every workload and seed: a row for each run.

    The policies take turns at each workload, in an order that is drawn anew every time, so that whatever else the
    machine is doing hits all of them alike. All must give the same answer.
    """
    skipped = list(_inapplicable(experiment))
    rows: list[Row] = []
    for point in experiment.points:
        out = {id(skip.contender) for skip in skipped if skip.point is point}
        contenders = [contender for contender in experiment.contenders if id(contender) not in out]
        for seed in experiment.seeds:
            rows += _turns(experiment, point, contenders, seed)
    return rows, skipped


def _inapplicable(experiment: Experiment) -> Iterator[Skipped]:
    """Try every policy on one row of every workload; one that can run nowhere is the config's mistake."""
    for contender in experiment.contenders:
        tried = [(point, *_tried(contender, point, experiment)) for point in experiment.points]
        mistakes = [error for _, _, error in tried if error is not None]
        if mistakes and all(reason is not None for _, reason, _ in tried):
            raise mistakes[0]
        for point, reason, _ in tried:
            if reason is not None:
                yield Skipped(contender=contender, point=point, reason=reason)


def _tried(contender: Contender, point: Point, experiment: Experiment) -> tuple[str | None, QueryError | None]:
    """Why a policy does not apply, and the error where the policy itself says so."""
    workload = point.workload(experiment.seeds[0], rows=1)
    missing = contender.missing(workload)
    if missing is not None:
        return missing, None
    try:
        eddy.run_local(workload.query, workload.data, policy=contender.choice(workload))
    except QueryError as error:
        return str(error), error
    return None, None


def _turns(experiment: Experiment, point: Point, contenders: Sequence[Contender], seed: int) -> list[Row]:
    """All policies on one workload, as often as asked."""
    workload = point.workload(seed, rows=experiment.rows)
    chance = np.random.default_rng([seed, len(contenders)])
    runs: list[list[eddy.Run]] = [[] for _ in contenders]
    answers: list[tuple[str, pa.Table]] = []
    for _ in range(experiment.repeats):
        for which in chance.permutation(len(contenders)):
            run = _run(workload, contenders[which], experiment.batch_rows, seed)
            answers = agreed([*answers, (contenders[which].label, run.results)], point)
            runs[which].append(run)
    shares = produced(runs) if experiment.totals else [{} for _ in runs]
    return [
        _row(experiment, point, contender, {"seed": seed, "repeat": repeat, **share, **measured(workload, run, own)})
        for contender, own, share in zip(contenders, runs, shares, strict=True)
        for repeat, run in enumerate(own)
    ]


def _run(workload: Workload, contender: Contender, batch_rows: int, seed: int) -> eddy.Run:
    gc.collect()
    choice, own = contender.choice(workload), contender.batch_rows or batch_rows
    return eddy.run_local(workload.query, workload.data, policy=choice, batch_rows=own, seed=seed)


def agreed(answers: list[tuple[str, pa.Table]], point: Point) -> list[tuple[str, pa.Table]]:
    """Check that the newest answer is that of the first; the first is all that is kept."""
    (first, expected), (label, got) = answers[0], answers[-1]
    if not _ordered(expected).equals(_ordered(got)):
        raise EngineError(
            f'{point.label}: the policies "{first}" and "{label}" give different answers, '
            f"{expected.num_rows:,} and {got.num_rows:,} rows; routing must never change the answer"
        )
    return answers[:1]


def _ordered(answer: pa.Table) -> pa.Table:
    return answer.sort_by([(name, "ascending") for name in answer.schema.names]).combine_chunks()


def _row(experiment: Experiment, point: Point, contender: Contender, figures: Row) -> Row:
    """A run as a flat row."""
    named: Row = {"experiment": experiment.name, "workload": point.label, "policy": contender.label}
    row = named | {"role": contender.role} | {**point.varied, **figures}
    for entry in experiment.paper:
        if all(row.get(key) == value for key, value in entry["where"].items()):
            row |= {"paper_calls": entry["calls"], "paper_seconds": entry["seconds"]}
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment, write its rows, and print what each policy gained over the baselines."""
    parser = argparse.ArgumentParser(prog="python -m jobs.compare_policies", description=__doc__)
    parser.add_argument("conf", help="the experiment, a TOML file such as conf/experiments/quick.toml")
    parser.add_argument("--json", metavar="OUT", help="where to write the rows")
    parser.add_argument("--quick", action="store_true", help="a small part only, to see that it runs")
    chosen = parser.parse_args(arguments)
    try:
        experiment = load(chosen.conf)
        if chosen.json and not Path(chosen.json).parent.is_dir():  # found now, and not after an hour
            raise QueryError(f'--json "{chosen.json}": there is no such folder; make it first')
        rows, skipped = compare(experiment.quick() if chosen.quick else experiment)
        if chosen.json:
            _write(Path(chosen.json), rows)
    except EddyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for skip in skipped:
        print(skip)
    print(improvement(rows, by=["workload"]).to_string(index=False))
    return 0


def _write(path: Path, rows: list[Row]) -> None:
    """One run on each line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    try:
        path.write_text(f"[\n{lines}\n]\n", "utf-8")
    except OSError as error:
        raise QueryError(f'--json "{path}": cannot be written: {error.strerror}') from error


if __name__ == "__main__":
    sys.exit(main())
