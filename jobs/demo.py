"""A minute with the eddy: python -m jobs.demo."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import permutations

import eddy
from eddy.wiring import PolicyChoice
from jobs.web import QUERY, ROWS, requests

BATCH = 2_000
SHIFT = ROWS // 2
"""Where the stream changes: from then on the attackers come through the front door."""


def main() -> int:
    """Route the same stream in every fixed order and at random, and compare."""
    data = {"web": requests()}
    names = [f.name for f in QUERY.filters]
    contenders: list[tuple[str, PolicyChoice]] = [
        (" > ".join(order), {"name": "fixed", "order": list(order)}) for order in permutations(names)
    ]
    contenders.append(("random", "random"))
    print(f"{ROWS:,} web requests, three filters, micro-batches of {BATCH:,}; halfway the traffic changes")
    print(f"\n{'order':<32} {'calls before':>13} {'calls after':>12} {'seconds':>8}   results")
    runs = [(label, eddy.run_local(QUERY, data, policy=policy, batch_rows=BATCH)) for label, policy in contenders]
    for label, run in runs:
        before, after = _calls(run)
        print(f"{label:<32} {before:>13,} {after:>12,} {_seconds(run):>8.2f}   {run.results.num_rows:,}")
    return _verdict(runs)


def _verdict(runs: Sequence[tuple[str, eddy.Run]]) -> int:
    fixed = [(label, *_calls(run)) for label, run in runs[:-1]]
    first = min(fixed, key=lambda row: row[1])
    second = min(fixed, key=lambda row: row[2])
    best = min(before + after for _, before, after in fixed)
    print(f"\nbest before the change: {first[0]}\nbest after the change:  {second[0]}")
    print(
        f"one order for all costs {best:,} calls at best; the right one at each time {first[1] + second[2]:,}: "
        f"{1 - (first[1] + second[2]) / best:.0%} fewer. Spark would keep the order that was written first."
    )
    answers = {tuple(sorted(run.results["at"].to_pylist())) for _, run in runs}
    print(f"\nanswers: {'all the same' if len(answers) == 1 else 'THEY DIFFER, which must never happen'}")
    last = runs[0][1].report.operators()
    shown = last.drop(columns=["pattern", "seconds"]).round(2).to_string(index=False)
    print(f"\nreport.operators() of the first line:\n{shown}")
    return 0 if len(answers) == 1 else 1


def _calls(run: eddy.Run) -> tuple[int, int]:
    calls = run.report.batches()["routing_calls"]
    half = SHIFT // BATCH
    return int(calls[:half].sum()), int(calls[half:].sum())


def _seconds(run: eddy.Run) -> float:
    return float(run.report.batches()["seconds"].sum())


if __name__ == "__main__":
    sys.exit(main())
