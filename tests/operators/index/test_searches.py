"""Searches that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.operators.index import searches
from eddy.operators.index.searches import Searches
from eddy.tuples.runs import Ranges

KEY = ("a", ("b.k = a.k",))
OWN = np.arange(100, 110)


def ranges(runs: list[list[tuple[int, int]]], rows: np.ndarray[tuple[int], np.dtype[np.int64]] = OWN) -> Ranges:
    """A start and a count for each run of each row."""
    starts, counts = np.moveaxis(np.array(runs, np.int64), 2, 0)
    return Ranges(starts, counts, rows)


def found(kept: Searches, rows: list[int]) -> list[list[int]] | None:
    """The rows that each has found."""
    some = kept.find(KEY, np.array(rows, np.int64))
    if some is None:
        return None
    at, ids = some.expand(0, len(rows))
    return [ids[at == n].tolist() for n in range(len(rows))]


def test_rows_find_what_they_found() -> None:
    kept = Searches()
    kept.keep(KEY, np.array([4, 2]), ranges([[(0, 2)], [(5, 1)]]), are_own=False)
    assert found(kept, [2, 4, 2]) == [[105], [100, 101], [105]]
    assert found(kept, []) == []


def test_what_one_row_did_not_look_for_is_not_known() -> None:
    kept = Searches()
    kept.keep(KEY, np.array([4, 2]), ranges([[(0, 2)], [(5, 1)]]), are_own=False)
    assert [found(kept, rows) for rows in ([3], [2, 0], [4, 5])] == [None, None, None]
    assert kept.find(("b", KEY[1]), np.array([4])) is None
    kept.clear()
    assert found(kept, [4]) is None


@pytest.mark.parametrize("rows", [OWN, np.arange(200, 210)], ids=["of one index", "of their own"])
def test_a_second_search_goes_behind_the_first(rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    kept = Searches()
    kept.keep(KEY, np.array([1]), ranges([[(0, 2)]]), are_own=rows is not OWN)
    kept.keep(KEY, np.array([0]), ranges([[(1, 1), (4, 2)]], rows), are_own=rows is not OWN)
    assert found(kept, [0, 1]) == [rows[[1, 4, 5]].tolist(), [100, 101]]


def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "MOST_KEPT", 4)
    kept = Searches()
    for row in range(3):
        kept.keep(KEY, np.array([row]), ranges([[(row, 1)]]), are_own=False)
    assert [found(kept, [row]) for row in range(3)] == [None, None, [[102]]]
    kept.clear()
    kept.keep(KEY, np.array([0]), ranges([[(0, 1)]]), are_own=True)
    assert not kept
