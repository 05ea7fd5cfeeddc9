"""Tasks that are killed and tried again at random points, for 200 micro-batches: the same answer as without."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.eddy.spark import feeds, servers
from tests.eddy.spark.test_attach import local, query, rows
from tests.eddy.test_same_answer import rows_of

BATCHES, ROWS = 200, 60

LEAST = {"killed": 20, "raised": 20, "slow": 3}
"""So many faults of each kind there are at the least: a run without them shows nothing."""

POINTS = {"plan", "observe", "snapshot", "restore", "filter", "sent"}

PATIENCE = 3_000
"""Seconds: much more than it takes, so that a hang is an error."""


Happened = Counter[tuple[str, str]]
"""Faults, by kind and point."""


def survived(place: Path) -> Happened:
    """Run the job with its faults, and hold its answer against that of a run without; says what has happened."""
    data = {name: rows(seed, count=ROWS, batches=BATCHES) for seed, name in enumerate("ab")}
    for name, tables in data.items():
        feeds.write(place / "in" / name, tables)
    log = place / "job.log"
    with servers.cluster(place) as url:
        ended = servers.job(log, "tests.eddy.spark.retried", str(place), url, seconds=PATIENCE)
    assert ended == 0, log.read_text("utf-8")[-5_000:]
    found, wanted = rows_of(feeds.read_committed(place / "out")), local(query(), data)
    lost, more = wanted - found, found - wanted
    assert not lost, f"{lost.total()} rows are lost: {lost.most_common(3)}"
    assert not more, f"{more.total()} rows are too many: {more.most_common(3)}"
    # Of older micro-batches Spark keeps no commits.
    last = max(int(file.name) for file in (place / "checkpoint" / "commits").glob("[0-9]*"))
    assert last + 1 >= BATCHES, f"expected {BATCHES} micro-batches, got {last + 1}"
    faults = (file.name.split("-") for file in (place / "faults").iterdir())
    return Counter((kind, point) for kind, point, *_ in faults)


@pytest.mark.long
@pytest.mark.timeout(PATIENCE + 300)
def test_tasks_that_are_tried_again_change_nothing(tmp_path: Path) -> None:
    happened = survived(tmp_path)
    kinds: Counter[str] = Counter()
    for (kind, _), times in happened.items():
        kinds[kind] += times
    assert {kind: kinds[kind] for kind, least in LEAST.items() if kinds[kind] < least} == {}, happened
    assert {point for _, point in happened} == POINTS
