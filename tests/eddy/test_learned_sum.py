"""What several engines have learned adds up: in any order, to the last bit, and whatever is damaged adds nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.engine import Engine, remembered
from eddy.engine.learned_sum import add_up
from eddy.engine.remembered import Remembered
from eddy.engine.snapshot import Snapshot, pack, unpack
from eddy.observe.prices import Fit
from eddy.policies.registry import POLICIES
from eddy.query.shorthand import make_query, read_predicates
from eddy.wiring import PolicyChoice, engine
from tests.tries import fewer

SCHEMA = pa.schema({"k": pa.int64(), "city": pa.string()})
QUERY = make_query(
    read_predicates([lambda k: k % 2 == 0, lambda city: city != "Wien", "k > 10"], SCHEMA.names, case_sensitive=False),
    SCHEMA.names,
    "where",
)
PLAIN = sorted({*POLICIES} - {"knows", "x_join", "a_caching"})


def make(policy: PolicyChoice = "content", number: int = 0) -> Engine:
    clock = itertools.count().__next__
    return engine(QUERY, {"rows": SCHEMA}, policy, tables={}, clock=lambda: clock() * 1e-6, seed=0, cell=number)


def learn(rows: int, seed: int, policy: PolicyChoice = "content") -> Snapshot:
    """What an engine has learned of rows of its own."""
    chance, made = np.random.default_rng(seed), make(policy, seed)
    for start in range(0, rows, 1_000):
        count = min(1_000, rows - start)
        numbers = pa.array(chance.integers(0, 50 * (seed + 1), count))
        cities = pa.array(chance.choice(["Wien", "Graz", "Linz"], count))
        made.pick(pa.record_batch([numbers, cities], schema=SCHEMA))
    return made.snapshot()


def read(snapshot: Snapshot) -> Mapping[str, Any]:
    return unpack(snapshot)[0]


@fewer(10)
@given(st.lists(st.integers(0, 4_000), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_writers_does_not_matter(sizes: list[int], chance: Any) -> None:
    parts = [learn(rows, seed) for seed, rows in enumerate(sizes)]
    whole = add_up(parts)
    chance.shuffle(parts)
    assert add_up(parts) == whole
    # One that has seen nothing adds nothing, wherever it stands.
    nothing = make().snapshot()
    assert add_up([nothing, *parts, nothing]) == (whole if any(sizes) else nothing)


@fewer(10)
@given(st.lists(st.integers(1, 4_000), min_size=2, max_size=4))
def test_rates_and_prices_are_those_of_all_rows(sizes: Sequence[int]) -> None:
    parts = [learn(rows, seed) for seed, rows in enumerate(sizes)]
    metas, whole = [*map(read, parts)], read(add_up(parts))
    for operator, _, rows_in, _, rows_out, seconds in whole["statistics"]:
        own = [entry[2:] for meta in metas for entry in meta["statistics"] if entry[0] == operator]
        assert rows_out / rows_in == pytest.approx(sum(e[2] for e in own) / sum(e[0] for e in own))
        assert seconds / rows_in == pytest.approx(sum(e[3] for e in own) / sum(e[0] for e in own))
        # It is forgotten as quickly as what one alone has learned.
        assert rows_in == pytest.approx(max(entry[0] for entry in own))
    for operator, pattern, sums, _ in whole["prices"]:
        own = [e[2] for meta in metas for e in meta["prices"] if e[:2] == [operator, pattern] and e[2] is not None]
        assert (sums is None) == (not own)
        if own:
            assert sums[5] == pytest.approx(max(one[5] for one in own))
            low, high = (edge(Fit.restore(one).price.seconds(1_000) for one in own) for edge in (min, max))
            assert low * 0.99 <= Fit.restore(sums).price.seconds(1_000) <= high * 1.01
    # All that is no sum is from the one with the most rows.
    most = max(metas, key=lambda meta: meta["came"]["rows"]["rows"])
    if sizes.count(max(sizes)) == 1:
        assert {**whole, "statistics": 0, "prices": 0} == {**most, "statistics": 0, "prices": 0}


@fewer(6)
@given(st.tuples(*[st.integers(1, 3_000)] * 3))
def test_sums_of_sums_keep_the_same_rows(sizes: tuple[int, int, int]) -> None:
    """Which classes and orders are kept does not depend on how parts are put together."""
    one, two, three = (learn(rows, seed) for seed, rows in enumerate(sizes))
    left, right = add_up([add_up([one, two]), three]), add_up([one, add_up([two, three])])
    whole = add_up([one, two, three])
    names = ("came", "state", "classifier", "policy", "batch")
    if len({*sizes}) == 3:
        for other in (left, right):
            assert {n: read(other)[n] for n in names} == {n: read(whole)[n] for n in names}


@pytest.mark.parametrize("policy", PLAIN)
def test_every_policy_goes_on_from_a_sum(policy: str) -> None:
    whole = add_up([learn(rows, seed, policy) for seed, rows in enumerate((1_500, 2_500, 700))])
    goes_on = make(policy)
    goes_on.restore(whole)
    rows = pa.record_batch([pa.array(range(5_000)), pa.array(["Graz", "Wien"] * 2_500)], schema=SCHEMA)
    assert goes_on.pick(rows).places.tolist() == list(range(12, 5_000, 2))
    assert read(goes_on.snapshot())["came"]["rows"]["rows"] == 2_500 + 5_000


def test_what_costs_otherwise_is_not_added() -> None:
    one, two = learn(2_000, 0), learn(1_000, 1)
    meta, tables = unpack(two)
    dearer = pack({**meta, "costs": {"filter": 2.0}}, tables)
    assert read(add_up([one, dearer]))["prices"] == read(one)["prices"]
    assert read(add_up([one, dearer]))["statistics"] == read(add_up([one, two]))["statistics"]


def test_a_damaged_file_among_others_adds_nothing(tmp_path: Path) -> None:
    place = Remembered(tmp_path / "kept", "first")
    for writer in range(3):
        place.leave(str(writer), learn(1_000 * (writer + 1), writer), ())
    files = remembered.list_files(place.folder)
    files[1].write_bytes(files[1].read_bytes()[:-5])
    (place.folder / "notes.txt").write_text("somebody else's")
    with pytest.warns(eddy.EddyWarning, match="and is learned anew: the state cannot be read") as told:
        made, begun = Remembered(place.folder, "second").begin(make)
    assert len(told) == 1
    assert "checkpoint" not in str(told[0].message)
    assert begun == [files[0], files[2]]
    assert made.snapshot() == add_up([learn(1_000, 0), learn(3_000, 2)])
    Remembered(place.folder, "second").leave("0", made.snapshot(), begun)
    assert len([*place.folder.iterdir()]) == 3


def test_more_files_than_are_read_at_once_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_FILES", 2)
    for writer in range(3):
        Remembered(tmp_path, "first").leave(str(writer), learn(500, writer), ())
    _, begun = Remembered(tmp_path, "second").begin(make)
    assert len(begun) == 2
