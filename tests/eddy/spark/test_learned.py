"""What a worker keeps of a query: in its memory, in a file that may be damaged, and with no answer depending on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pyspark import SparkFiles

import eddy
from eddy.engine.remembered import Remembered
from eddy.engine.snapshot_file import read_file
from eddy.errors import CheckpointError, EddyWarning
from eddy.query.shorthand import make_query, read_predicates
from eddy.spark.shipped import Shipped
from eddy.spark.stateless import learned, task
from tests.eddy.spark import test_cell

SCHEMA = pa.schema({"k": pa.int64()})


def is_odd(k: npt.NDArray[np.int64]) -> Any:
    return k % 2 == 1


def is_third(k: npt.NDArray[np.int64]) -> Any:
    return k % 3 == 0


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A worker that has seen nothing yet, and its folder."""
    monkeypatch.setattr(learned, "ENGINES", type(learned.ENGINES)())
    # As a worker sets them when it begins a task.
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    return tmp_path


def shipped(token: str = "t", predicates: Sequence[Any] = (is_odd, is_third)) -> Shipped:
    query = make_query(read_predicates(predicates, ["k"], case_sensitive=False), ["k"], "where")
    return test_cell.shipped(query, {"name": "content", "costs": "unit"}, token=token, schemas={"rows": SCHEMA})


def run(asked: Shipped, *parts: range, remember: Path | None = None) -> list[dict[str, Any]]:
    """The verdicts of a task."""
    columns = iter([pa.array(part, pa.int64()) for part in parts])
    arrays = task.judge(asked, columns, None if remember is None else Remembered(remember, "a run"))
    return [row for array in arrays for row in array.to_pylist()]


def passed(rows: list[dict[str, Any]]) -> list[int]:
    return [place for place, row in enumerate(rows) if row["passes"]]


def test_a_worker_goes_on_with_its_engine(place: Path) -> None:
    asked = shipped()
    rows = run(asked, range(10), range(0), range(10, 20))
    assert passed(rows) == [3, 9, 15]
    assert [number for number, row in enumerate(rows) if row["report"]] == [19]
    first = learned.ENGINES["t"].engine
    assert passed(run(asked, range(7))) == [3]
    assert learned.ENGINES["t"].engine is first
    assert run(asked) == []
    for number in range(learned.MOST_QUERIES + 1):
        run(shipped(str(number)), range(3))
    assert len(learned.ENGINES) == learned.MOST_QUERIES


def test_a_new_worker_goes_on_from_the_file(place: Path) -> None:
    asked = shipped()
    run(asked, range(5_000))
    (file,) = place.rglob("*.learned")
    assert [one.name for one in file.parent.iterdir()] == ["0.learned"]
    learned.ENGINES.clear()
    kept = learned.find(asked, 0)
    assert kept.engine.snapshot() == read_file(file)
    # Another partition has no file yet, and begins anew.
    assert learned.find(asked, 1).engine.snapshot() != read_file(file)


@pytest.mark.parametrize("damage", [b"", b"edl1", b"edl1" + bytes(16), b"xxxx" * 9, None])
def test_a_damaged_file_is_told_and_begun_anew(place: Path, damage: bytes | None) -> None:
    asked = shipped()
    run(asked, range(5_000))
    (file,) = place.rglob("*.learned")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9] + b"x" + whole[-8:] if damage is None else damage)
    learned.ENGINES.clear()
    with pytest.warns(EddyWarning, match="what was learned cannot be read from .*, and is learned anew"):
        rows = run(asked, range(12))
    assert passed(rows) == [3, 9]


def ask_other(asked: Shipped) -> Shipped:
    """What workers get of another query."""
    return replace(asked, queries={"": replace(asked.queries[""], parts={"filter": "another"})})


def test_a_file_of_another_query_is_not_taken(place: Path) -> None:
    run(shipped("one"), range(100))
    (file,) = place.rglob("*.learned")
    found = read_file(file)
    assert found is not None
    other = ask_other(shipped())
    with pytest.raises(CheckpointError):
        other.engine(0).restore(found)


def test_a_folder_that_takes_no_file_is_told(place: Path) -> None:
    (place / learned.FOLDER).write_text("in the way")
    with pytest.warns(EddyWarning, match="what was learned cannot be") as told:
        assert passed(run(shipped(), range(5))) == [3]
    assert len(told) == 2


def test_a_folder_of_the_users_outlives_the_application(place: Path) -> None:
    folder = place / "mine" / "learned"
    asked = shipped()
    assert passed(run(asked, range(5_000), remember=folder))[:2] == [3, 9]
    (file,) = folder.iterdir()
    written = read_file(file)
    # Another application has another folder, and another token if the functions have changed.
    learned.ENGINES.clear()
    kept = learned.find(replace(asked, token="other"), 5, Remembered(folder, "another run"))
    assert kept.engine.snapshot() == written
    assert kept.begun == [file]
    # That of another query is told, and left alone.
    foreign = replace(ask_other(asked), token="foreign")
    with pytest.warns(EddyWarning, match="is learned anew"):
        run(foreign, range(100), remember=folder)
    assert read_file(file) == written
    assert len([*folder.iterdir()]) == 2


def test_who_comes_next_has_what_all_have_learned(place: Path) -> None:
    """Two workers of one run leave a file each; the next run begins with both, and leaves one in their place."""
    folder, asked = place / "mine", shipped()
    for partition, rows in enumerate((range(1_000), range(3_000))):
        kept = learned.find(asked, partition, Remembered(folder, "a run"))
        kept.engine.pick(pa.record_batch({"k": pa.array(rows, pa.int64())}))
        assert not kept.begun
        learned.keep(asked, kept)
        learned.ENGINES.clear()
        for file in place.rglob(f"{learned.FOLDER}/*/*"):
            file.unlink()
        if not partition:
            continue
        assert len([*folder.iterdir()]) == 2
    kept = learned.find(asked, 0, Remembered(folder, "the next"))
    assert len(kept.begun) == 2
    learned.keep(asked, kept)
    assert len([*folder.iterdir()]) == 1
    assert not kept.begun


def test_a_folder_that_cannot_be_read_is_told(place: Path) -> None:
    (place / "mine").write_text("in the way")
    with pytest.warns(EddyWarning, match="what was learned cannot be") as told:
        assert passed(run(shipped(), range(5), remember=place / "mine")) == [3]
    assert len(told) == 2


def test_an_engine_that_failed_is_not_kept(place: Path) -> None:
    asked = shipped()
    wrong = iter([pa.array([1, 2], pa.int64()), pa.array(["x"])])
    with pytest.raises(Exception, match="x"):
        list(task.judge(asked, wrong))
    assert not learned.ENGINES


def test_a_task_that_is_not_run_to_its_end_leaves_nothing_behind(place: Path) -> None:
    """As behind a limit: its engine may be in the middle of things, so nobody goes on with it."""
    before = threading.active_count()

    @eddy.predicate(rowwise=True, concurrency=4)
    def waits(k: int) -> bool:
        time.sleep(1e-4)
        return k % 2 == 1

    asked = shipped(predicates=(waits, is_third))
    verdicts: Any = task.judge(asked, iter([pa.array(range(n, n + 50), pa.int64()) for n in range(0, 500, 50)]))
    assert len(next(verdicts)) == 50
    verdicts.close()  # as Spark does when it wants no more rows
    assert not learned.ENGINES
    assert not [*place.rglob("*.learned")]
    assert threading.active_count() <= before + 4
    assert passed(run(asked, range(10))) == [3, 9]
    assert len(learned.ENGINES) == 1


def test_empty_partitions_and_batches_tell_nothing_and_keep_nothing(place: Path) -> None:
    asked = shipped()
    assert run(asked) == []
    assert run(asked, range(0), range(0)) == []
    assert not [*place.rglob("*.learned")]
    rows = run(asked, range(0), range(4), range(0))
    assert passed(rows) == [3]
    assert len([row for row in rows if row["report"]]) == 1
