"""A standalone cluster: a master, two workers, and what may happen to executors and tasks there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.eddy.spark import feeds, servers
from tests.eddy.spark.cluster import FAULTS
from tests.eddy.spark.test_attach import local, query, rows
from tests.eddy.test_same_answer import rows_of

DATA = {name: rows(seed) for seed, name in enumerate("ab")}

HAPPENED = {
    "nothing": [],
    "an executor is killed": ["killed"],
    "a function fails once": ["failed"],
    "a slow task is copied": ["copy-*", "slow"],
}
"""The files by which a fault says that it has come about."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture(scope="module")
def done(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The job, with all of its faults."""
    place = tmp_path_factory.mktemp("job")
    for name, tables in DATA.items():
        feeds.write(place / "in" / name, tables)
    ended = servers.job(place / "job.log", "tests.eddy.spark.cluster", str(place), cluster)
    assert ended == 0, (place / "job.log").read_text("utf-8")
    return place


def answer(place: Path) -> Counter[tuple[Any, ...]]:
    return rows_of(feeds.read_committed(place / "out"))


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_happens_to_a_task_changes_nothing(done: Path, fault: str) -> None:
    assert [name for name in HAPPENED[fault] if not list((done / fault).glob(name))] == []
    assert answer(done / fault) == answer(done / "nothing") == local(query(), DATA)
