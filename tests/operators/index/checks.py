"""What every index must do; each check is crossed with every registered index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddy.contracts import Index
from eddy.operators.index.registry import INDEXES
from eddy.operators.index.segments import Segments
from eddy.query import Range
from eddy.tuples.arrays import KeyCodes, Valid
from eddy.tuples.runs import Reach

Compare = Callable[[npt.NDArray[np.int64], int], npt.NDArray[np.bool_]]

OPS: Mapping[str, Compare] = {
    "=": lambda keys, wanted: keys == wanted,
    "<": lambda keys, wanted: keys < wanted,
    "<=": lambda keys, wanted: keys <= wanted,
    ">": lambda keys, wanted: keys > wanted,
    ">=": lambda keys, wanted: keys >= wanted,
}
"""What a search may ask of a key."""

ASKED: Mapping[str, tuple[list[str], ...]] = {
    "sorted": (["="], ["=", "="]),
    "ordered": (["<"], ["<="], [">"], [">="], [">", "<="]),
}
"""What each registered index can be asked, one list for each search; a test fails for an index that has none."""


@dataclass
class Rows:
    """Rows with keys that come and go, and what an index must find in them."""

    keys: list[npt.NDArray[np.int64]]
    valid: npt.NDArray[np.bool_]
    segments: Segments

    @classmethod
    def none(cls, keys: int) -> Rows:
        return cls([np.empty(0, np.int64)] * keys, np.empty(0, np.bool_), Segments(Range(1_000), delay=0))

    def __len__(self) -> int:
        return len(self.valid)

    def add(self, rng: np.random.Generator, rows: int) -> None:
        ticks = np.arange(len(self), len(self) + rows)
        self.keys = [np.append(known, rng.integers(-5, 60, rows) * 2**40) for known in self.keys]
        self.valid = np.append(self.valid, rng.random(rows) < 0.9)
        self.segments.extend(ticks)

    def lose(self, rng: np.random.Generator) -> None:
        self.keep(rng.random(len(self)) < 0.8)

    def keep(self, keep: npt.NDArray[np.bool_]) -> None:
        self.keys = [known[keep] for known in self.keys]
        self.valid = self.valid[keep]
        self.segments.retain(keep)

    def codes(self, start: int, stop: int) -> tuple[list[KeyCodes], Valid]:
        return [known[start:stop] for known in self.keys], self.valid[start:stop]


def check_nothing_that_matches_is_missed(name: str) -> None:
    """Whatever comes and goes, a search finds every row whose keys compare as asked."""
    rng = np.random.default_rng(1)
    for ops in ASKED[name]:
        rows, index = Rows.none(_keys(name, ops)), INDEXES[name]()
        for step in range(12):
            rows.add(rng, int(rng.integers(0, 900)))
            if step % 3 == 2:
                rows.lose(rng)
            index.refresh(list(rows.segments), rows.codes)
            _check_search(index, rows, ops, rng)


def check_each_probe_looks_where_it_reaches(name: str) -> None:
    """Every row that matches is found in the segments in a probe's reach, and no row of another segment."""
    rng = np.random.default_rng(6)
    rows, index = Rows.none(1), INDEXES[name]()
    for _ in range(6):
        rows.add(rng, 1_100)
    index.refresh(list(rows.segments), rows.codes)
    number = np.concatenate([np.full(s.rows, n) for n, s in enumerate(rows.segments)])
    (op, *_), probes = ASKED[name][0], rng.integers(-6, 61, 50) * 2**40
    reach = Reach(rng.integers(0, 3, 50), rng.integers(0, len(rows.segments) + 1, 50))
    at, found = index.search([(op, probes)], reach).expand(50)
    for probe in range(50):
        near = (number >= reach.first[probe]) & (number < reach.last[probe])
        wanted = np.flatnonzero(rows.valid & near & OPS[op](rows.keys[0], int(probes[probe])))
        here = found[at == probe]
        assert len(set(here.tolist())) == len(here)
        assert set(wanted.tolist()) <= set(here.tolist())
        assert near[here].all()


def check_an_index_is_small(name: str) -> None:
    """Less than ten bytes a row, however many rows and keys there are."""
    rows, index = Rows.none(1), INDEXES[name]()
    rows.add(np.random.default_rng(2), 50_000)
    index.refresh(list(rows.segments), rows.codes)
    index.rest()
    assert 0 < index.nbytes <= 10 * len(rows)


def check_only_what_has_changed_is_built(name: str) -> None:
    """A segment that holds the same rows is not looked at again, not even when it moves up."""
    rng = np.random.default_rng(4)
    rows, index = Rows.none(1), INDEXES[name]()
    seen: list[tuple[int, int]] = []

    def codes(start: int, stop: int) -> tuple[list[KeyCodes], Valid]:
        seen.append((start, stop))
        return rows.codes(start, stop)

    def built() -> list[tuple[int, int]]:
        seen.clear()
        index.refresh(list(rows.segments), codes)
        _check_search(index, rows, ASKED[name][0], rng)
        index.rest()
        return list(seen)

    for _ in range(3):
        rows.add(rng, 1_000)
    first, *others = [(s.start, s.stop) for s in rows.segments]
    assert others
    assert built() == [first, *others]
    assert built() == []
    rows.keep(np.arange(len(rows)) >= first[1])
    assert built() == []
    rows.add(rng, 10)
    last = list(rows.segments)[-1]
    assert built() == [(last.start, last.stop)]


def check_no_probes_and_no_rows(name: str) -> None:
    """Nothing is a right input."""
    rows, index = Rows.none(1), INDEXES[name]()
    for count in (0, 5):
        rows.add(np.random.default_rng(3), count)
        index.refresh(list(rows.segments), rows.codes)
        for probes in (0, 3):
            found = index.search([(ASKED[name][0][0], np.zeros(probes, np.int64))])
            assert len(found.per_probe()) == probes
            assert len(found.expand(probes)[0]) == found.per_probe().sum()


def _keys(name: str, ops: list[str]) -> int:
    """How many keys a search is about: an order may put two bounds on one."""
    return 1 if name == "ordered" else len(ops)


def _check_search(index: Index, rows: Rows, ops: list[str], rng: np.random.Generator) -> None:
    probes = [rng.integers(-6, 61, 50) * 2**40 for _ in ops]
    at, found = index.search(list(zip(ops, probes, strict=True))).expand(50)
    assert (np.diff(at) >= 0).all()
    assert rows.valid[found].all()
    for probe in range(50):
        wanted = rows.valid.copy()
        for number, op in enumerate(ops):
            wanted &= OPS[op](rows.keys[min(number, len(rows.keys) - 1)], int(probes[number][probe]))
        here = found[at == probe]
        assert len(set(here.tolist())) == len(here)
        assert set(np.flatnonzero(wanted).tolist()) <= set(here.tolist())


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
