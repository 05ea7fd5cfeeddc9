"""What every index must do; each check is crossed with every registered index.

A search must not miss a row that matches. Which others it may find differs: a hash may be that of another key, and
where several segments are one index, a run has rows of all of them, though a probe may be out of reach of some. An
earlier check forbade that, when each segment had an index of its own and leaving out segments was all that kept a
probe from old rows; now the times do, for the runs that are worth it. The probe verifies what it is given either way,
so what must hold is that a row without a key is never found, that no row is found twice, and that candidates of a code
stand in the order of their times: else a search among the times would leave out rows that match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddy.contracts import Request
from eddy.operators.index.structures.contracts import Index, PartRows
from eddy.operators.index.structures.key_map import Field, KeyMap
from eddy.operators.index.structures.registry import INDEXES

Ints = npt.NDArray[np.int64]

OPS: Mapping[str, Callable[[Ints, int], npt.NDArray[np.bool_]]] = {
    "=": lambda keys, wanted: keys == wanted,
    "<": lambda keys, wanted: keys < wanted,
    "<=": lambda keys, wanted: keys <= wanted,
    ">": lambda keys, wanted: keys > wanted,
    ">=": lambda keys, wanted: keys >= wanted,
}
"""What a search may ask of a key."""

ASKED: Mapping[str, tuple[list[str], ...]] = {
    "mapped": (["="], ["=", "="]),
    "sorted": (["="], ["=", "="]),
    "ordered": (["<"], ["<="], [">"], [">="], [">", "<="]),
}
"""What each registered index can be asked, one list for each search; a test fails for an index that has none."""

BITS = (1, 4, 9, 16, 19)
"""Bits of codes: one pass of a sort, and two."""


@dataclass
class Rows:
    """Rows with keys and times, some of them without a key, and what must be found among them."""

    keys: list[Ints]
    valid: npt.NDArray[np.bool_]
    times: Ints

    @classmethod
    def drawn(cls, rng: np.random.Generator, rows: int, keys: int, *, rising: bool = True) -> Rows:
        times = rng.integers(0, 50, rows)
        return cls(
            [rng.integers(-5, 60, rows) * 2**40 for _ in range(keys)],
            rng.random(rows) < 0.9,
            np.sort(times) if rising else times,
        )

    def __len__(self) -> int:
        return len(self.valid)

    def part(self, first: int, stop: int, bits: int, *, rising: bool = True) -> PartRows:
        """Those from one place to another, as an index is given them."""
        some = slice(first, stop)
        codes = [key[some] for key in self.keys]
        return PartRows(stop - first, codes, self.valid[some], None if rising else self.times[some], (bits,))

    def check(self, index: Index, ops: list[str], rng: np.random.Generator, first: int = 0) -> None:
        """An index of the rows from a first one on finds what it must."""
        probes = [rng.integers(-6, 61, 50) * 2**40 for _ in ops]
        found = list_found(index, request(ops, probes))
        valid = self.valid[first:]
        for probe, rows in enumerate(found):
            wanted = valid.copy()
            for number, op in enumerate(ops):
                keys = self.keys[min(number, len(self.keys) - 1)][first:]
                wanted &= OPS[op](keys, int(probes[number][probe]))
            assert len(set(rows)) == len(rows)
            assert valid[rows].all()
            assert set(np.flatnonzero(wanted).tolist()) <= set(rows)


def request(ops: list[str], probes: list[Ints]) -> Request:
    """What some tuples search for."""
    if ops[0] == "=":
        return Request(dict(enumerate(probes)))
    return Request({}, 0, list(zip(ops, probes, strict=True)))


def list_found(index: Index, asked: Request) -> list[list[int]]:
    """The rows that each tuple finds."""
    starts, counts = index.search(asked, slice(None))
    return [index.order[start : start + count].tolist() for start, count in zip(starts, counts, strict=True)]


def over(name: str, keys: int, bits: int = 16) -> KeyMap:
    """A map as an index has it."""
    return KeyMap(then=0) if name == "ordered" else KeyMap(fields=(Field(keys=tuple(range(keys)), bits=bits),))


def check_nothing_that_matches_is_missed(name: str) -> None:
    rng = np.random.default_rng(1)
    for ops in ASKED[name]:
        for bits in BITS:
            rows = Rows.drawn(rng, 700, _keys(name, ops))
            rows.check(INDEXES[name](over(name, len(rows.keys)), rows.part(0, 700, bits)), ops, rng)


def check_rows_go_and_come_without_being_sorted(name: str) -> None:
    """An index from which the first rows have gone, and that took in others, finds those that there are."""
    rng = np.random.default_rng(2)
    for ops in ASKED[name]:
        for gone in (0, 1, 150, 400):
            rows = Rows.drawn(rng, 700, _keys(name, ops))
            build, made = INDEXES[name], over(name, len(rows.keys))
            index, more = build(made, rows.part(0, 400, 8)), build(made, rows.part(400, 700, 8))
            if index.trim(gone):
                Rows([key[:400] for key in rows.keys], rows.valid[:400], rows.times).check(index, ops, rng, gone)
                if index.extend(more, 400 - gone):
                    rows.check(index, ops, rng, gone)


def check_candidates_stand_in_order_of_their_times(name: str) -> None:
    """Also if they came in another."""
    rng = np.random.default_rng(3)
    if name != "mapped":
        return
    for rising in (True, False):
        rows = Rows.drawn(rng, 600, 1, rising=rising)
        index = INDEXES[name](over(name, 1), rows.part(0, 600, 5, rising=rising))
        for found in list_found(index, request(["="], [np.arange(-6, 61) * 2**40])):
            assert (np.diff(rows.times[found]) >= 0).all()
            if rising:
                assert (np.diff(found) > 0).all()


def check_some_probes_look(name: str) -> None:
    """Those that reach a part, and no others."""
    rng = np.random.default_rng(6)
    ops = ASKED[name][0]
    rows = Rows.drawn(rng, 500, 1)
    index = INDEXES[name](over(name, 1), rows.part(0, 500, 9))
    asked = request(ops, [rng.integers(-6, 61, 50) * 2**40])
    every = index.search(asked, slice(None))
    some = np.array([7, 3, 3, 49])
    assert [part.tolist() for part in index.search(asked, some)] == [part[some].tolist() for part in every]


def check_an_index_is_small(name: str) -> None:
    """Less than ten bytes a row with as many codes as rows, however many keys there are."""
    rows = Rows.drawn(np.random.default_rng(2), 60_000, 1)
    index = INDEXES[name](over(name, 1), rows.part(0, len(rows), 16))
    assert 0 < index.nbytes <= 10 * len(rows)


def check_no_probes_and_no_rows(name: str) -> None:
    """Nothing is a right input."""
    rng = np.random.default_rng(3)
    for count in (0, 5):
        rows = Rows.drawn(rng, count, 1)
        index = INDEXES[name](over(name, 1), rows.part(0, count, 4))
        for probes in (0, 3):
            asked = request(ASKED[name][0], [np.zeros(probes, np.int64)])
            starts, counts = index.search(asked, slice(None))
            assert len(starts) == len(counts) == probes


def _keys(name: str, ops: list[str]) -> int:
    """How many keys a search is about: an order may put two bounds on one."""
    return 1 if name == "ordered" else len(ops)


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
"""The checks, crossed with the registry."""
