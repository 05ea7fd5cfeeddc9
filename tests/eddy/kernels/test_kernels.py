"""Kernels of both kinds give the same, whatever they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import EngineError
from eddy.kernels import addresses, chain_loops, loops
from eddy.kernels.arguments import (
    NO_BOUNDS,
    CodeTable,
    HashBits,
    HeldPart,
    Kernels,
    Lookup,
    Lookups,
    Narrowing,
    Places,
    Proposed,
    Ranked,
    Rising,
    Screen,
    Screened,
    Sieve,
    Term,
)
from eddy.kernels.compiled import COMPILED
from eddy.kernels.plain import PLAIN
from eddy.tuples.arrays import Hashes, Integers, Numbers
from eddy.tuples.request import TimeBounds
from eddy.tuples.runs import Lots, Ranges, Reach

KINDS = pytest.mark.parametrize("kernels", [PLAIN, COMPILED], ids=["numpy", "numba"])

WIDTHS = (np.uint8, np.uint16, np.uint32, np.int64)
OWN = (np.int8, np.int16, np.int32, np.int64)
OPS = ("=", "<", "<=", ">", ">=")
ENDS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


@KINDS
@given(data=st.data())
def test_codes_are_in_order_and_alike_ones_as_they_stand(kernels: Kernels, data: st.DataObject) -> None:
    bits = data.draw(st.integers(1, 19))
    few = data.draw(st.integers(1, 1 << bits))
    rows = data.draw(st.sampled_from([0, 1, 2, 50, 300]))
    codes = np.random.default_rng(rows).integers(0, few, rows).astype(np.uint32)
    order, begins = kernels.sort_codes(codes, bits)
    assert order.tolist() == np.argsort(codes, kind="stable").tolist()
    assert begins.tolist() == np.searchsorted(np.sort(codes), np.arange((1 << bits) + 1)).tolist()


class Draw:
    """Draws what kernels are given, from a seed; the choices that matter are hypothesis's, which can shrink them."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.rng = np.random.default_rng(data.draw(st.integers(0, 1_000)))

    def choose(self, *some: Any) -> Any:
        return self.data.draw(st.sampled_from(some))

    def lookups(self, fractions: type[Any], parts: int) -> Lookups:
        rows, begin, made = self.choose(0, 1, 40, 300), 0, []
        for number in range(parts):
            widths = [self.choose(1, 3, 6) for _ in range(self.choose(1, 1, 2, 3))]
            free = self.choose(0, 0, 1)
            total = sum(widths) + free
            keys = [(0,), (1,), (0, 1)]
            lefts = total - np.cumsum(widths)
            bits = [HashBits(keys[n], 64 - width, int(lefts[n])) for n, width in enumerate(widths)]
            codes = self.rng.integers(0, 1 << total, rows).astype(np.uint32)
            times = np.sort(self.rng.integers(-50, 50, rows)).astype(fractions)
            order, begins = PLAIN.sort_codes(codes, total)
            width = self.choose(np.uint16, np.uint32)
            rising = (
                Rising(times, float(times[0]), float(times[-1])) if rows and free == 0 and self.choose(0, 1) else None
            )
            table = CodeTable(begins.astype(width), order.astype(width), bits, free)
            made.append(Lookup(table, number, begin, rising))
            begin += rows
        return Lookups(made)


@given(data=st.data())
def test_probes_find_the_same_runs(data: st.DataObject) -> None:
    draw = Draw(data)
    probes, parts, ticks = draw.choose(0, 1, 100), draw.choose(1, 2, 7), draw.choose(np.int64, np.int64, np.float64)
    lookups = draw.lookups(ticks, parts)
    made: dict[tuple[int, ...], Hashes] = {
        keys: draw.rng.integers(0, 1 << 64, probes, np.uint64) for keys in ((0,), (1,), (0, 1))
    }
    first = draw.rng.integers(0, parts + 1, probes)
    reach = draw.choose(None, Reach(first, np.minimum(first + draw.rng.integers(0, 3, probes), parts)))
    low = draw.rng.integers(-60, 60, probes).astype(ticks)
    bounds = draw.choose(NO_BOUNDS, TimeBounds(low, None), TimeBounds(None, low), TimeBounds(low, low + ticks(20)))
    within = Narrowing(bounds, draw.choose(0, 1, 6))
    size = (probes, parts if reach is None else reach.width)
    places = [Places(np.zeros(size, np.int64), np.zeros(size, np.int64), reach) for _ in range(2)]
    found = [
        kernels.look_up(lookups, made.__getitem__, within, place)
        for kernels, place in zip((PLAIN, COMPILED), places, strict=True)
    ]
    plain, compiled = places
    assert found[0] == found[1]
    assert plain.counts.tolist() == compiled.counts.tolist()
    # Where a run begins that has no rows says nothing.
    some = plain.counts > 0
    assert plain.starts[some].tolist() == compiled.starts[some].tolist()


def draw_ranges(draw: Draw, tuples: int, stored: int) -> Ranges:
    """Runs in lots of rows as they stand, and of rows in some order, numbered in few bytes or many."""
    lots, begins = Lots(), []
    for _ in range(draw.choose(1, 2, 3)):
        order = draw.choose(None, draw.rng.permutation(stored).astype(draw.choose(*WIDTHS)))
        begins.append(lots.add(order, 0, stored))
    size = (tuples, draw.choose(1, 3))
    counts = np.minimum(draw.rng.integers(0, draw.choose(1, 4, 60), size), stored)
    begin = draw.rng.choice(begins, size)
    starts = begin + (draw.rng.random(size) * (stored - counts + 1)).astype(np.int64)
    return Ranges(starts, counts, lots)


def draw_screen(draw: Draw, tuples: int, stored: int) -> Screen:
    """Codes, ids, times and verdicts, at their ends too, and any of them not asked for."""
    terms = []
    for _ in range(draw.choose(0, 1, 2)):
        kind = draw.choose(*OWN)
        ends = np.iinfo(kind)
        few = np.array([ends.min, -1, 0, 1, ends.max], np.int64)
        own, wanted = draw.rng.choice(few, stored).astype(kind), draw.rng.choice(few, tuples)
        valid, known = (draw.choose(None, draw.rng.random(size) < 0.7) for size in (stored, tuples))
        terms.append(Term(draw.choose(*OPS), own, valid, wanted, known))
    before = draw.choose(None, draw.rng.integers(0, stored + 2, tuples))
    ranks = np.arange(stored) + 7
    low, high = (draw.rng.choice([*ENDS, -3, 0, 4], tuples) for _ in range(2))
    return Screen(
        terms=terms,
        before=before,
        ranked=None if before is None else draw.choose(None, Ranked(ranks, draw.choose(-2, 5))),
        times=draw.choose(None, draw.rng.choice([*ENDS, -3, 0, 4], stored)),
        bounds=TimeBounds(draw.choose(None, low), draw.choose(None, high)),
        alive=draw.choose(None, draw.rng.random(stored) < 0.8),
        stored=stored,
    )


@given(data=st.data())
def test_the_same_candidates_pass(data: st.DataObject) -> None:
    draw = Draw(data)
    tuples, stored = draw.choose(1, 2, 40), draw.choose(0, 1, 90)
    ranges, asked = draw_ranges(draw, tuples, stored), draw_screen(draw, tuples, stored)
    first, most = draw.data.draw(st.integers(0, tuples - 1)), draw.choose(0, 1, 30, 1 << 18)
    plain, compiled = (kernels.screen(ranges, asked, first, most) for kernels in (PLAIN, COMPILED))
    assert listed(plain) == listed(compiled)


def listed(found: Screened) -> tuple[Any, ...]:
    return found.at.tolist(), found.rows.tolist(), found.stop, found.candidates


def draw_held(draw: Draw, inputs: int, stored: int, *, timed: bool) -> list[HeldPart]:
    """Parts of a cache with rows that have left, and times at their ends too."""
    parts = []
    for _ in range(draw.choose(0, 1, 3)):
        many = draw.choose(0, 1, 60)
        newest, deadline = (draw.rng.choice([*ENDS, -3, 0, 4], many) if timed else None for _ in range(2))
        parts.append(HeldPart([draw.rng.integers(0, stored + 5, many) for _ in range(inputs)], newest, deadline))
    return parts


def draw_places(draw: Draw, tuples: int, parts: list[HeldPart]) -> Ranges:
    """For each tuple a run in each part."""
    size, begin = (tuples, max(len(parts), 1)), 0
    starts, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for part, held in enumerate(parts):
        many = len(held.rows[0])
        counts[:, part] = draw.rng.integers(0, min(many, draw.choose(1, 9)) + 1, tuples)
        starts[:, part] = begin + (draw.rng.random(tuples) * (many - counts[:, part] + 1)).astype(np.int64)
        begin += many
    lots = Lots()
    lots.add(None, 0, begin)
    return Ranges(starts, counts, lots)


@given(data=st.data())
def test_the_same_combinations_pass(data: st.DataObject) -> None:
    draw = Draw(data)
    tuples, stored, inputs, timed = draw.choose(1, 2, 40), draw.choose(1, 90), draw.choose(2, 4), draw.choose(0, 1)
    parts = draw_held(draw, inputs, stored, timed=bool(timed))
    ranges = draw_places(draw, tuples, parts)
    newest, deadline = (draw.choose(None, draw.rng.choice([*ENDS, -3, 0, 4], tuples)) for _ in range(2))
    asked = Sieve(
        parts=parts,
        gone=[5] * inputs,
        stored=[stored] * inputs,
        before=[draw.choose(None, draw.rng.integers(0, stored + 2, tuples)) for _ in range(inputs)],
        alive=[draw.choose(None, draw.rng.random(stored) < 0.8) for _ in range(inputs)],
        newest=newest if timed else None,
        deadline=deadline if timed else None,
    )
    first, most = draw.data.draw(st.integers(0, tuples - 1)), draw.choose(0, 1, 30, 1 << 18)
    plain, compiled = (kernels.propose(ranges, asked, first, most) for kernels in (PLAIN, COMPILED))
    assert listed_combinations(plain) == listed_combinations(compiled)


def listed_combinations(found: Proposed) -> tuple[Any, ...]:
    return found.at.tolist(), found.places.tolist(), [ids.tolist() for ids in found.ids], found.stop


@pytest.mark.parametrize("broken", ["held", "run", "before", "alive", "row", "times"])
def test_no_combination_is_read_behind_the_end_of_an_array(broken: str) -> None:
    rows: Integers = np.arange(2 if broken == "held" else 3)
    times = np.arange(2 if broken == "times" else 3)
    parts = [HeldPart([np.arange(3), rows], times, None)]
    asked = Sieve(
        parts=parts,
        gone=[0, 0],
        stored=[3, 2 if broken == "row" else 3],
        before=[np.arange(1 if broken == "before" else 2), None],
        alive=[np.ones(2 if broken == "alive" else 3, np.bool_), None],
        newest=np.arange(2),
        deadline=np.arange(2),
    )
    lots = Lots()
    lots.add(None, 0, 3)
    ranges = Ranges(np.array([[0], [1]]), np.array([[3], [9 if broken == "run" else 2]]), lots)
    with pytest.raises(EngineError, match="inside of the arrays"):
        COMPILED.propose(ranges, asked, 0, 100)


def test_memory_of_others_that_may_not_be_written_to_is_read() -> None:
    times: Integers = np.arange(4)
    times.flags.writeable = False
    asked = Screen([], None, None, times, TimeBounds(np.array([2, 0]), None), None, 4)
    lots = Lots()
    lots.add(None, 0, 4)
    found = COMPILED.screen(Ranges(np.array([[0], [0]]), np.array([[4], [1]]), lots), asked, 0, 100)
    assert listed(found) == ([0, 0, 1], [2, 3, 0], 2, 5)


def test_loops_that_are_kept_are_those_of_these_sources() -> None:
    """A loop calls what is in other files, of which numba's cache knows nothing."""
    made = {**vars(loops), **vars(chain_loops)}
    kept = {
        name: made[name].py_func.__qualname__ for name in ("sort_codes", "look_up", "screen", "link", "unlink", "walk")
    }
    assert kept == {name: f"{name}_{loops.name_sources()}" for name in kept}
    assert {Path(str(module.__file__)).name for module in (addresses, loops, chain_loops)} == set(loops.SOURCES)


@pytest.mark.parametrize("broken", ["row", "run", "own", "wanted", "begins", "order", "times"])
def test_no_kernel_reads_behind_the_end_of_an_array(broken: str) -> None:
    """As if rows and their indexes had come apart: it is an error, and says so."""
    with pytest.raises(EngineError, match="inside of the arrays"):
        look_up_or_screen(broken)


def look_up_or_screen(broken: str) -> None:
    own: Numbers = np.arange(3 if broken == "own" else 4)
    wanted: Numbers = np.zeros(1 if broken == "wanted" else 2, np.int64)
    lots = Lots()
    lots.add(np.array([0, 1, 2, 9 if broken == "row" else 3], np.uint16), 0, 4)
    ranges = Ranges(np.array([[0], [1]]), np.array([[4], [9 if broken == "run" else 1]]), lots)
    COMPILED.screen(ranges, Screen([Term("=", own, None, wanted, None)], None, None, None, NO_BOUNDS, None, 4), 0, 100)
    begins = np.array([0, 2, 2 if broken == "begins" else 4], np.uint16)[: 2 if broken == "begins" else 3]
    order = np.array([0, 1, 2, 3], np.uint16)[: 3 if broken == "order" else 4]
    rising = Rising(np.arange(1 if broken == "times" else 4), 0, 3)
    table = CodeTable(begins, order, [HashBits((0,), 63, 0)], 0)
    places = Places(np.zeros((1, 1), np.int64), np.zeros((1, 1), np.int64), None)
    within = Narrowing(TimeBounds(np.array([2]), None), 0)
    COMPILED.look_up(Lookups([Lookup(table, 0, 0, rising)]), lambda _: np.full(1, 1 << 63, np.uint64), within, places)
