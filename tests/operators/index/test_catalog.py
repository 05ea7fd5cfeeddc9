"""What a catalog builds, what it puts in order again, and what it does where there is little room."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from eddy.kernels.arguments import NO_BOUNDS, Screen, Term
from eddy.kernels.choice import Choice, choose_chains, choose_kernels
from eddy.kernels.plain import PLAIN
from eddy.operators.index import admission, catalog
from eddy.operators.index.catalog import Catalog
from eddy.operators.index.linking import PLAIN_FOR
from eddy.operators.index.pricing import Pricing
from eddy.operators.index.segments import Segments
from eddy.operators.index.structures import chained
from eddy.operators.index.structures.key_map import KeyMap, hash_map, linked_map
from eddy.operators.index.time_bounds import make_bounds
from eddy.operators.keys import ColumnKey
from eddy.operators.stored.columns import FixedWidth
from eddy.operators.tuning.settings import IndexSettings
from eddy.query import Range
from eddy.tuples.arrays import Mask
from eddy.tuples.request import Request
from eddy.tuples.runs import Kept
from tests import tiny

Ints = npt.NDArray[np.int64]

WINDOW = 400


class Held:
    """Rows with two keys, that come and go, and their catalog."""

    def __init__(self, settings: IndexSettings | None = None, values: int = 20) -> None:
        self.rng = np.random.default_rng(0)
        self.values = values
        self.keys: list[Ints] = [np.empty(0, np.int64)] * 2
        self.ticks: Ints = np.empty(0, np.int64)
        self.segments = Segments(Range(WINDOW), 0)
        self.catalog = Catalog(self.segments, settings, lambda: self.ticks)
        self.columns = [_Column(self, number) for number in range(2)]
        for number, column in enumerate(self.columns):
            self.catalog.add_key(ColumnKey(column), f"k{number}", "bigint")

    def come(self, ticks: Ints) -> None:
        self.ticks = np.append(self.ticks, ticks)
        self.keys = [np.append(key, self.rng.integers(0, self.values, len(ticks))) for key in self.keys]
        self.segments.extend(ticks)
        self.catalog.note_arrived(len(ticks))

    def go(self, watermark: int, room: int = 1 << 20) -> None:
        keep = np.ones(len(self.ticks), np.bool_)
        for segment in self.segments:
            if watermark - segment.newest > WINDOW:
                keep[segment.start : segment.stop] = False
        self.keep(keep, room)

    def keep(self, keep: Mask, room: int = 1 << 20) -> None:
        self.keys, self.ticks = [key[keep] for key in self.keys], self.ticks[keep]
        self.segments.retain(Kept.of(keep))
        self.catalog.retain(Kept.of(keep))
        self.catalog.rest(room)

    def check(self, pattern: int, now: int | None = None) -> int:
        """Whoever searches finds all rows of the window, in order; says how many candidates there were."""
        wanted = {n: np.arange(self.values) for n in range(2) if pattern >> n & 1}
        times = np.full(self.values, now if now is not None else int(self.ticks.max()))
        ranges = self.catalog.find(Request(wanted), make_bounds([times], [None], WINDOW)).ranges
        at, rows = ranges.expand(0, self.values)
        # A pair as one number, since there are as many as a look through all rows finds.
        found = at * len(self.ticks) + rows
        assert len(np.unique(found)) == len(found)
        # Each tuple asks for one value in all of the keys, so a row matches the one that asks for its own.
        own, *others = (self.keys[n] for n in wanted)
        near = np.flatnonzero(np.logical_and.reduce([self.ticks >= times[0] - WINDOW, *(own == key for key in others)]))
        assert np.isin(own[near] * len(self.ticks) + near, found).all()
        return len(found)

    def check_order(self, key: int) -> None:
        """Whoever asks for smaller values of a key finds all their rows."""
        wanted = np.arange(self.values)
        ranges = self.catalog.find(Request({}, key, [("<", wanted)])).ranges
        at, found = ranges.expand(0, self.values)
        for probe in wanted:
            assert set(np.flatnonzero(self.keys[key] < probe).tolist()) <= set(found[at == probe].tolist())


class _Column(FixedWidth):
    """A key of the rows that are held."""

    def __init__(self, held: Held, number: int) -> None:
        self.held, self.number = held, number

    @property
    def values(self) -> Ints:
        return self.held.keys[self.number]

    @property
    def valid(self) -> None:
        return None


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.parts_of(monkeypatch, 4)


def run(held: Held, batches: int, patterns: tuple[int, ...] = (0b01, 0b11), room: int = 1 << 20) -> float:
    """Rows of one tick each come by fifty; says how often each was put in order in the second half."""
    for number in range(batches):
        if number == batches // 2:
            held.catalog.take_counts()
        held.come(np.arange(number * 50, number * 50 + 50))
        for pattern in patterns:
            held.check(pattern)
        held.go(number * 50 + 49, room)
    counts = held.catalog.take_counts()
    return sum(counts.sorted_rows.values()) / counts.arrived


class Linked(Held):
    """The same rows, found along chains."""

    def check(self, pattern: int, now: int | None = None) -> int:
        wanted = {n: np.arange(self.values) for n in range(2) if pattern >> n & 1}
        found = self.catalog.walk(Request(wanted))
        if found is None:
            return super().check(pattern, now)
        assert found.walk is not None
        # Chains of fewer keys lead to more rows, that are held against the others.
        terms = [Term("=", self.keys[n], None, codes, None) for n, codes in wanted.items()]
        asked = Screen(terms, None, None, None, NO_BOUNDS, None, len(self.ticks))
        near = choose_chains().walk(found.walk, asked, 0, 1 << 30, False)
        own, *others = (self.keys[n] for n in wanted)
        right = np.logical_and.reduce([np.ones(len(own), np.bool_), *(own == key for key in others)])
        # Each tuple asks for one value in all of the keys.
        pairs = sorted(zip(own[right].tolist(), np.flatnonzero(right).tolist(), strict=True))
        assert list(zip(near.at.tolist(), near.rows.tolist(), strict=True)) == pairs
        return near.candidates


CHAINS = pytest.mark.skipif(choose_kernels().kernels.chains is None, reason="chains need compiled kernels")


@pytest.mark.parametrize("walks", [pytest.param(True, marks=CHAINS), False])
def test_rows_are_linked_once(walks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where kernels are compiled; without, they are put in order. Both keys' searches go along chains of one."""
    kernels = choose_kernels().kernels
    monkeypatch.setattr(catalog, "choose_kernels", lambda: Choice(kernels if walks else PLAIN, ""))
    # Rows come and go in lots here, and heads that follow them are linked anew.
    monkeypatch.setattr(chained, "SHRINK", 8)
    held = Linked()
    again = run(held, 40)
    assert {key_map.linked for key_map in held.catalog.maps} == {walks}
    assert bool(held.catalog.linked) == walks
    assert again == 1 if walks else again > 2


@CHAINS
def test_chains_follow_rows_with_holes_among_them() -> None:
    """Rows that nobody has looked for since they came are in no chain, and go like the others."""
    held = Linked()
    for number in range(30):
        held.come(np.arange(number * 50, number * 50 + 50))
        if number % 3:
            held.check(0b01 if number % 2 else 0b11)
        keep = held.ticks > number * 50 - WINDOW
        keep[held.rng.integers(0, len(keep), 9)] = False
        held.keep(keep)


@CHAINS
def test_chains_leave_room_for_others_as_they_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With less room they have fewer heads; with far less, rows are put in order, in fewer bytes."""
    monkeypatch.setattr(admission, "LEAST_ROOM", 0)
    monkeypatch.setattr(chained, "FEWEST_BITS", 2)
    wide = Linked(values=500)
    run(wide, 20)
    sizes = []
    for share in (1.0, 0.75, 0.3):
        held = Linked(values=500)
        run(held, 20, room=int(wide.catalog.nbytes * share))
        sizes.append((bool(held.catalog.linked), held.catalog.nbytes <= wide.catalog.nbytes * share * 1.1))
    assert sizes[0] == (True, True)
    assert sizes[2] == (False, True)
    assert all(fits for _, fits in sizes)


@CHAINS
@pytest.mark.parametrize(("tuples", "chains"), [(1, 1), (4_000, 2)])
def test_a_search_has_chains_of_its_own_if_it_pays(tuples: int, chains: int) -> None:
    """By both keys a tuple finds a twentieth of what it finds by one: that pays for many tuples."""
    held = Linked()
    for number in range(12):
        held.come(np.arange(number * 50, number * 50 + 50))
        held.check(0b01)
        asked = held.rng.integers(0, held.values, tuples)
        found = held.catalog.walk(Request({0: asked, 1: asked}))
        assert found is not None
        held.go(number * 50 + 49)
    assert len(held.catalog.linked) == chains


@CHAINS
def test_chains_are_left_where_they_lead_past_what_is_too_new() -> None:
    """One stream is far ahead of another: what is close in time is found by halves, until they are close again."""
    held = Linked(values=4)
    held.come(np.arange(4_000))
    request = Request({0: np.arange(400) % 4})
    behind, level = (make_bounds([np.full(400, now)], [50], WINDOW) for now in (10, 4_000))
    assert held.catalog.walk(request, level) is not None
    assert held.catalog.walk(request, behind) is None
    ranges = held.catalog.find(request, behind).ranges
    # A quarter of the 61 rows from the first to the latest that may be met, and hardly more.
    assert ranges.per_probe().max() < 40
    for _ in range(PLAIN_FOR):
        assert held.catalog.walk(request, level) is None
        held.catalog.rest(1 << 20)
    assert held.catalog.walk(request, level) is not None


@CHAINS
@pytest.mark.parametrize("room", [0, 400, 3_000, 8_000, 20_000])
def test_no_search_looks_at_all_rows_where_chains_of_its_keys_are(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever there is room for, and in whatever order patterns are asked."""
    monkeypatch.setattr(admission, "LEAST_ROOM", 0)
    monkeypatch.setattr(chained, "FEWEST_BITS", 2)
    held = Linked(values=60)
    for number in range(24):
        held.come(np.arange(number * 50, number * 50 + 50))
        for pattern in held.rng.permutation([0b01, 0b10, 0b11])[: 1 + number % 3].tolist():
            there = [key_map for key_map in held.catalog.linked if key_map.list_fields(pattern)]
            held.catalog.take_counts()
            held.check(pattern)
            served = held.catalog.take_counts().served
            assert not there or None not in {key_map for key_map, _ in served}
        held.go(number * 50 + 49, room)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("time_order", [True, False])
def test_rows_come_and_go(merge: bool, time_order: bool) -> None:
    run(Held(IndexSettings(merge=merge, time_order=time_order)), 30)


@pytest.mark.parametrize("values", [20, 1_000, 50_000])
def test_a_row_is_put_in_order_a_few_times_for_a_map(values: int) -> None:
    """Also where codes have so many bits that a table of all is too large for what a larger part takes in."""
    assert run(Held(values=values), 60, (0b01,)) <= 3.5


def test_merged_parts_are_few() -> None:
    held = Held()
    run(held, 40)
    assert len(held.catalog.parts) <= 3
    assert all(len(part.built) == 2 for part in held.catalog.parts)
    many = Held(IndexSettings(merge=False))
    run(many, 40)
    assert len(many.catalog.parts) >= 4


def test_times_leave_out_what_is_too_old() -> None:
    """Rows of a stream that is far ahead are stored for long, and few of them are candidates."""
    candidates = []
    for time_order in (True, False):
        held = Held(IndexSettings(time_order=time_order), values=3)
        for number in range(40):
            held.come(np.arange(number * 50, number * 50 + 50))
        candidates.append(held.check(0b01, now=1_999))
    assert candidates[0] <= 400 + 3
    assert candidates[0] * 4 < candidates[1]


def test_rows_that_come_late_are_put_in_order_of_time() -> None:
    held = Held(values=3)
    for number in range(30):
        ticks = np.arange(number * 50, number * 50 + 50)
        held.come(held.rng.permutation(ticks) - held.rng.integers(0, 200, 50))
        assert held.check(0b01, now=number * 50 + 50)
        held.go(number * 50 - 200)


def test_what_there_is_no_room_for_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LEAST_ROOM", 0)
    held = Held()
    run(held, 12, room=0)
    assert held.catalog.nbytes == 0
    counts = held.catalog.take_counts()
    assert not counts.sorted_rows
    assert {key_map for key_map, _ in counts.served} <= {None}


def test_as_before_what_there_is_no_room_for_is_built_again() -> None:
    """Indexes that were asked for last are kept, and no search looks through all rows."""
    as_before = IndexSettings(merge=False, time_order=False)
    wide = Held(as_before)
    run(wide, 12)
    room = wide.catalog.nbytes - 1
    held = Held(as_before)
    again = run(held, 12, room=room)
    assert 0 < held.catalog.nbytes <= room
    assert again > 1.5 * run(Held(as_before), 12)
    counts = held.catalog.take_counts()
    assert None not in {key_map for key_map, _ in counts.served}


def test_what_serves_is_found_out_once_for_rows_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices are asked for parts that are new or twice as large, and not for every search."""
    held = Held(IndexSettings(kind="chosen"))
    run(held, 12)
    held.catalog.use(held.catalog.maps[:1])
    asked: list[int] = []
    priced = Pricing.price_part

    def count(*args: Any) -> float:
        asked.append(1)
        return priced(*args)

    monkeypatch.setattr(Pricing, "price_part", count)
    run(held, 1, (0b01, 0b11))
    begun = len(asked)
    for _ in range(20):
        held.check(0b01)
        held.check(0b11)
    assert len(asked) == begun


def test_an_old_part_is_searched_by_its_own_maps() -> None:
    """New maps are those of parts that are yet to come: no row that is stored is put in order for them."""
    held = Held(IndexSettings(kind="hash"))
    old, new = hash_map(0b01, 16), hash_map(0b10, 16)
    held.catalog.use([old])
    run(held, 4, (0b11,))
    held.catalog.use([new])
    held.come(np.arange(200, 250))
    held.catalog.take_counts()
    held.check(0b11)
    counts = held.catalog.take_counts()
    assert {key_map for key_map, _ in counts.served} == {old, new}
    assert all(part.built == part.maps for part in held.catalog.parts)
    assert held.catalog.parts[0].maps == (old,)
    assert counts.sorted_rows == {new: sum(part.rows for part in held.catalog.parts if part.maps == (new,))}


def test_with_some_room_another_map_serves() -> None:
    """By two keys a row is found by one of them, where that saves bytes."""
    held = Held(values=1_000)
    run(held, 10, patterns=(0b01, 0b10, 0b11), room=1 << 20)
    every = held.catalog.nbytes
    held.catalog.take_counts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission, "LEAST_ROOM", 0)
        for number in range(10, 18):
            held.come(np.arange(number * 50, number * 50 + 50))
            for pattern in (0b01, 0b10, 0b11):
                held.check(pattern)
            held.go(number * 50 + 49, every // 5)
            assert held.catalog.nbytes <= every // 5
    held.catalog.take_counts()
    held.check(0b11)
    ((key_map, _),) = held.catalog.take_counts().served
    assert key_map is not None
    assert len(key_map.fields[0].keys) == 1


def test_a_map_of_new_parts_does_not_stand_for_those_of_old_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is room for both, the map of old parts is kept, though the new one takes fewer bytes."""
    monkeypatch.setattr(admission, "LEAST_ROOM", 0)
    old, new, asked = hash_map(0b01, 16), hash_map(0b11, 16), (0b01, None)
    options = {
        old: [admission.Option(old, 2, 600.0, {(asked, 0): 5.0, (asked, 1): 5.0})],
        new: [admission.Option(new, 2, 100.0, {(asked, 1): 5.0})],
    }
    chooses = admission.Admission()
    chooses.ask(asked, 1_000)
    chooses.rest([old, new], lambda *_: 900.0, options.__getitem__, 1_000, {(old,): 9_000, (new,): 1})
    assert not chooses.leaves_out(old)


def test_a_map_that_nobody_reads_for_a_window_gives_up_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much it was read before: what it saved then is no reason to keep it."""
    monkeypatch.setattr(admission, "LEAST_ROOM", 0)
    monkeypatch.setattr(admission, "PERIOD", 1_000)
    once, now = hash_map(0b01, 16), hash_map(0b10, 16)
    options = {
        key_map: [admission.Option(key_map, 2, 600.0, {((pattern, None), 0): 1.0})]
        for key_map, pattern in ((once, 0b01), (now, 0b10))
    }
    chooses = admission.Admission()
    left_out = []
    for number in range(12):
        chooses.arrive(200)
        chooses.ask((0b10, None), 10)
        if number < 6:
            chooses.ask((0b01, None), 1_000_000)
        chooses.rest([once, now], lambda *_: 600.0, options.__getitem__, 1_000, {None: 1_000})
        left_out.append(once if chooses.leaves_out(once) else now)
    assert left_out == [now] * 10 + [once] * 2
    assert chooses.decisions == 2


def test_an_order_serves_no_search_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is room for one of two orders, the rows of the other are looked through."""
    monkeypatch.setattr(admission, "LEAST_ROOM", 0)
    held = Held(values=200)
    served = set()
    for number in range(12):
        held.come(np.arange(number * 50, number * 50 + 50))
        for key in (0, 1):
            held.check_order(key)
        served = {key_map for key_map, _ in held.catalog.take_counts().served}
        held.go(number * 50 + 49, len(held.ticks) * 16)
    assert len(served) == 2
    assert None in served


def test_a_table_is_one_part_and_gives_about_one_candidate_a_match() -> None:
    segments = Segments(Range(1), stays=True)
    keys = np.random.default_rng(0).permutation(200_000)
    column = FixedWidth(pa.int64())
    column.append(pa.array(keys))
    catalog = Catalog(segments)
    catalog.add_key(ColumnKey(column), "k", "bigint")
    segments.extend(np.zeros(len(keys), np.int64))
    ranges = catalog.find(Request({0: np.arange(0, 200_000, 37)})).ranges
    probes = len(ranges.counts)
    at, found = ranges.expand(0, probes)
    assert ranges.counts.shape[1] == 1
    assert len(found) <= 1.5 * probes
    right = keys[found] == at * 37
    assert right.sum() == probes


def test_keys_are_numbered_and_named() -> None:
    held = Held()
    again = ColumnKey(held.columns[0])
    held.catalog.add_key(again, "k0", "bigint")
    held.catalog.add_key(ColumnKey(_Column(held, 1)), "k0", "int")
    assert held.catalog.names == ("k0 as bigint", "k1", "k0 as int")
    assert held.catalog.number(again) == 0
    held.come(np.arange(10))
    held.check(0b10)
    (key_map,) = held.catalog.maps
    assert isinstance(key_map, KeyMap)
    assert key_map.fields[0].keys == (1,)


@pytest.mark.parametrize("pairs", [0, 1, 100])
def test_what_takes_the_place_of_an_order_serves_what_that_did(pairs: int) -> None:
    """Chains are quicker for their own pattern, and leave those with more keys to a look through all rows."""
    order, chains = hash_map(0b01, 16), linked_map(0b01)
    deciding = admission.Admission()
    deciding.ask((0b01, None), 10)
    if pairs:
        deciding.ask((0b11, None), pairs)
    options = [
        admission.Option(order, 0, 30_000.0, {((0b01, None), 0): 10.0, ((0b11, None), 0): 20.0}, upkeep=0.0),
        admission.Option(chains, 0, 40_000.0, {((0b01, None), 0): 1.0}, upkeep=0.0),
    ]
    deciding.rest([chains], lambda _, spare: 100_000.0, lambda _: options, 50_000, {None: 2_000})
    # Nine a tuple are saved by chains; without the order a pair takes 3,000.
    assert deciding.leaves_out(chains) == (pairs > 0)
