"""Tuning as a whole: over catalogs without rows, of which the truth is known."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from eddy.errors import CheckpointError
from eddy.observe.indexing import Tuning
from eddy.operators.index.counts import Work
from eddy.operators.index.structures.key_map import KeyMap, hash_map
from eddy.operators.tuning import learned
from eddy.operators.tuning.assess.registry import ASSESSMENTS
from eddy.operators.tuning.learned import MOST_RIVALS, THINKING, Learned
from eddy.operators.tuning.migrator import MIGRATIONS, SORTED_AGAIN
from eddy.operators.tuning.schedule.registry import SCHEDULES
from eddy.operators.tuning.select.registry import SELECTIONS
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.trial import MEASURED
from eddy.operators.tuning.tuner import TAKEN_BACK
from eddy.operators.tuning.tuners import Tuners
from tests.operators.tuning.model import ModelCatalog

Mix = Callable[[int], Mapping[int, int]]

ROWS = 2_000
TURN = 20
EARLY = np.array([5, 1, 3, 2, 1, 8, 2]) * 60
LATE = np.array([1, 9, 1, 1, 5, 1, 1]) * 60


@pytest.fixture(autouse=True)
def looks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are few searches: how often it pays to look has tests of its own."""
    monkeypatch.setattr(learned, "LOOK", 0)


def settings(kind: str, **given: Any) -> IndexSettings:
    """Parts of the model are never merged."""
    return IndexSettings(
        **{"kind": kind, "merge": False, "period": 8_000, "trigger": 16_000, "training": 8_000, **given}
    )


def model(**given: Any) -> ModelCatalog:
    return ModelCatalog(names=("a", "b", "c"), believed=dict.fromkeys(range(3), 0.0005), **given)


def steady(batch: int, mix: Any = EARLY) -> Mapping[int, int]:
    drawn = np.random.default_rng(batch).poisson(mix)
    return {pattern: int(times) for pattern, times in enumerate(drawn, start=1) if times}


def drift(batch: int) -> Mapping[int, int]:
    return steady(batch, EARLY if batch < TURN else LATE)


class Run:
    """A cell whose inputs are searched as a mix says, one micro-batch after the other."""

    def __init__(self, mix: Mix, chosen: IndexSettings, **catalogs: ModelCatalog) -> None:
        self.mix = mix
        self.settings = chosen
        self.catalogs = catalogs
        self.tuners = Tuners(catalogs, chosen, (7, 0))
        self.told: list[tuple[int, Tuning]] = []
        self.work: list[float] = []
        self.batch = 0

    def go(self, batches: int) -> Run:
        for _ in range(batches):
            counts = {name: catalog.run(ROWS, self.mix(self.batch)) for name, catalog in self.catalogs.items()}
            self.tuners.settle(counts)
            self.told += [(self.batch, tuning) for tuning in self.tuners.count()]
            work = Work()
            for done in (done for one in counts.values() for done in one.served.values()):
                work.lookups += done.lookups
                work.ranges += done.ranges
                work.candidates += done.candidates
            put_in_order = sum(rows for one in counts.values() for rows in one.sorted_rows.values())
            self.work.append(
                work.lookups * MEASURED.lookup
                + work.ranges * MEASURED.range
                + work.candidates * MEASURED.candidate
                + put_in_order * MEASURED.sort
            )
            self.batch += 1
        return self

    def switches(self) -> list[int]:
        return [batch for batch, tuning in self.told if tuning.observed is None]


def test_patterns_are_left_alone() -> None:
    run = Run(drift, settings("patterns"), x=model()).go(50)
    assert run.told == []
    assert run.catalogs["x"].uses == []
    assert run.tuners.snapshot() == {}


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
@pytest.mark.parametrize("kind", sorted(set(SELECTIONS) - {"told"}))
def test_a_steady_stream_has_no_switch_after_ten_micro_batches(kind: str, schedule: str) -> None:
    run = Run(steady, settings(kind, schedule=schedule), x=model()).go(32)
    assert all(batch < 10 for batch in run.switches())
    assert run.switches()


@pytest.mark.parametrize("kind", ["bits", "hash"])
@pytest.mark.parametrize("turn", [2, 4, 8, 16])
def test_searches_that_go_to_and_fro_are_not_followed_and_a_lasting_change_is(kind: str, turn: int) -> None:
    """However often they turned before: once they stay, maps are soon as good as those of a run without turns."""
    last = 80

    def turning(batch: int) -> Mapping[int, int]:
        return steady(batch, EARLY if batch < last and batch // turn % 2 == 0 else LATE)

    short = {"period": 1_500, "trigger": 1_500, **({"count": 1} if kind == "hash" else {})}
    run = Run(turning, settings(kind, **short), x=model()).go(last + 30)
    fresh = Run(lambda batch: steady(batch, LATE), settings(kind, **short), x=model()).go(last + 30)
    switches = [batch for batch in run.switches() if batch < last]
    # In turns it would be five to forty times in the second half.
    assert sum(batch >= last // 2 for batch in switches) <= 2
    assert sum(run.work[-10:]) <= 1.05 * sum(fresh.work[-10:])


def test_rivals_are_as_far_ahead_of_new_maps_as_of_each_other() -> None:
    known = Learned()
    one, two, three = ((hash_map(pattern, 16),) for pattern in (1, 2, 4))
    known.put(one)
    for maps, ahead in ((two, 50.0), (three, 20.0)):
        known.meet(maps)
        known.rivals[-1].ahead = ahead
    known.put(two)
    assert {rival.maps: rival.ahead for rival in known.rivals} == {three: -30.0, one: -50.0}
    known.lose(three, 70.0)
    known.meet(three)
    assert {rival.maps: rival.ahead for rival in known.rivals} == {one: -50.0, three: -70.0}
    for number in range(5, 12):
        known.meet((hash_map(number, 16),))
    assert len(known.rivals) == MOST_RIVALS
    assert {one, three} <= {rival.maps for rival in known.rivals}


@pytest.mark.parametrize("assess", sorted(ASSESSMENTS))
def test_chosen_follows_the_searches_and_is_cheaper(assess: str) -> None:
    fixed, run = Run(drift, settings("patterns"), x=model()), Run(drift, settings("chosen", assess=assess), x=model())
    fixed.go(44)
    run.go(44)
    assert [batch for batch in run.switches() if TURN < batch < TURN + 14]
    assert sum(run.work[12:TURN]) < 0.95 * sum(fixed.work[12:TURN])
    assert sum(run.work[-8:]) < 0.95 * sum(fixed.work[-8:])


def test_where_little_is_done_indexes_are_looked_at_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look is paid for by the work since the last one; the first is for nothing."""
    monkeypatch.setattr(learned, "LOOK", 1_000)
    known = Learned(work=int(7_000 / THINKING) - 1)
    assert known.pays_a_look(7)
    assert known.begin_look({1: 10.0}, 100, is_tried=False)
    assert known.work == 0
    known.work = int(7_000 / THINKING) - 1
    assert not known.pays_a_look(7)
    known.work += 1
    assert known.pays_a_look(7)


def test_after_looks_in_vain_the_next_is_later() -> None:
    known = Learned(searches=100)
    waits = []
    for _ in range(6):
        known.look_later(10)
        waits.append(known.next_look - known.searches)
    assert waits == [0, 10, 30, 70, 70, 70]
    known.shares = {1: 1.0}
    assert not known.begin_look({1: 10.0}, 100, is_tried=False)
    assert known.begin_look({2: 10.0}, 100, is_tried=False)


def test_a_small_gain_does_not_split_what_is_merged() -> None:
    """Parts with other maps are not merged, and each more is looked into by every search."""
    split, merged = (Run(drift, settings("chosen", merge=merge), x=model()).go(44) for merge in (False, True))
    assert len(merged.switches()) < len(split.switches())


def test_what_a_switch_has_brought_is_told_under_its_number() -> None:
    run = Run(drift, settings("chosen"), x=model()).go(44)
    predicted = {tuning.number: tuning for _, tuning in run.told if tuning.observed is None}
    observed = {tuning.number: tuning for _, tuning in run.told if tuning.observed is not None}
    assert set(observed) == set(predicted) == set(range(1, len(predicted) + 1))
    last = observed[max(observed)]
    assert last.observed == pytest.approx(last.predicted, abs=0.12)
    assert last.input == "x"
    assert all("hash(" in text for text in (*last.before, *last.after))


class Dear(dict[KeyMap, float]):
    """All maps that sort by more than one key find many times more than they should."""

    def get(self, key: KeyMap, default: Any = None) -> float:
        return 2_000.0 if len(key.fields) > 1 else 1.0


def test_a_switch_that_makes_it_worse_is_taken_back() -> None:
    run = Run(steady, settings("chosen"), x=model(dearer=Dear())).go(25)
    first = run.told[0][1]
    back = next(tuning for _, tuning in run.told if tuning.why == TAKEN_BACK)
    assert (back.before, back.after, back.number) == (first.after, first.before, first.number + 1)
    assert run.told[1][1].observed is not None
    assert first.predicted is not None
    assert run.told[1][1].observed < 0 < first.predicted
    assert max(run.work[-5:]) < max(run.work[:15])


def test_what_was_taken_back_is_not_tried_again_soon() -> None:
    """Each time the wait doubles."""
    run = Run(
        lambda batch: steady(batch, EARLY if batch // 10 % 2 else LATE), settings("chosen"), x=model(dearer=Dear())
    )
    run.go(110)
    backs = [batch for batch, tuning in run.told if tuning.why == TAKEN_BACK]
    assert 1 <= len(backs) <= 5
    assert sorted(np.diff(backs)) == list(np.diff(backs))


@pytest.mark.parametrize("migrate", sorted(MIGRATIONS))
def test_rows_are_put_in_order_again_within_the_bound(migrate: str) -> None:
    catalog = model()
    run = Run(drift, settings("hash", migrate=migrate), x=catalog)
    for _ in range(36):
        before, maps = len(catalog.migrated), len(catalog.maps)
        run.go(1)
        again = sum(catalog.migrated[before:]) * maps
        assert again <= SORTED_AGAIN * ROWS + catalog.part_rows * maps
    assert bool(catalog.migrated) == (migrate != "none")


def test_no_more_rows_are_put_in_order_again_than_have_come() -> None:
    catalog = model(window=40_000)
    run = Run(drift, settings("hash", migrate="all"), x=catalog).go(29)
    start, since = len(catalog.migrated), run.switches()[-1]
    while run.batch < 40:
        run.go(1)
        again = sum(catalog.migrated[start:]) * len(catalog.maps)
        assert again <= SORTED_AGAIN * ROWS * (run.batch - since)


def test_migration_goes_where_it_pays() -> None:
    """Searches by a key that old parts have no index of: the newest are put in order again, and work falls at once."""
    work = {}
    for name in ("none", "partial"):
        catalog = model(window=20_000)
        run = Run(lambda batch: {1 if batch < 20 else 4: 1_500}, settings("hash", count=1, migrate=name), x=catalog)
        work[name] = run.go(34).work
        assert bool(catalog.migrated) == (name == "partial")
    assert sum(work["partial"][30:]) < 0.5 * sum(work["none"][30:])


@pytest.mark.parametrize(
    ("kind", "schedule"),
    [("chosen", "hybrid"), ("chosen", "continuous"), ("hash", "triggered"), ("static", "periodic")],
)
def test_restored_at_any_micro_batch_it_goes_on_exactly(kind: str, schedule: str) -> None:
    chosen = settings(kind, schedule=schedule, assess="cdia_random", epsilon=0.01, theta=0.1, migrate="none")
    whole = Run(drift, chosen, x=model(), y=model(window=5_000))
    for _ in range(32):
        state = json.loads(json.dumps(whole.tuners.snapshot()))
        other = copy.deepcopy(whole)
        # The catalogs keep their parts, so that what is counted is the same; the tuners know only what was saved.
        parts = {name: [part.maps for part in catalog.parts] for name, catalog in other.catalogs.items()}
        other.tuners = Tuners(other.catalogs, chosen, (7, 0))
        other.tuners.restore(state)
        for name, catalog in other.catalogs.items():
            for part, maps, same in zip(catalog.parts, parts[name], whole.catalogs[name].parts, strict=True):
                part.maps, part.built = maps, same.built
        other.told.clear()
        other.go(1)
        known = len(whole.told)
        whole.go(1)
        assert other.told == whole.told[known:]
        assert json.dumps(other.tuners.snapshot()) == json.dumps(whole.tuners.snapshot())
        assert [c.maps for c in other.catalogs.values()] == [c.maps for c in whole.catalogs.values()]


def test_a_restart_gives_all_parts_the_maps_in_force() -> None:
    run = Run(drift, settings("chosen"), x=model()).go(20)
    fresh = model()
    fresh.run(ROWS, {1: 10})
    tuners = Tuners({"x": fresh}, settings("chosen"), (7, 0))
    tuners.restore(run.tuners.snapshot())
    assert fresh.maps == run.catalogs["x"].maps
    assert all(part.maps == fresh.maps for part in fresh.parts)


def test_keys_in_another_order_are_found_again() -> None:
    run = Run(drift, settings("chosen"), x=model()).go(20)
    turned = model()
    turned.names = ("c", "a", "b")
    tuners = Tuners({"x": turned}, settings("chosen"), (7, 0))
    tuners.restore(run.tuners.snapshot())
    before = {one.describe(("a", "b", "c")) for one in run.catalogs["x"].maps}
    assert {one.describe(turned.names) for one in turned.maps} == before


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"index": {"kind": "bits"}},
        {"inputs": "other keys"},
    ],
)
def test_what_is_of_another_index_is_let_go_of(change: dict[str, Any]) -> None:
    run = Run(drift, settings("chosen"), x=model()).go(20)
    state = {**run.tuners.snapshot(), **change}
    if change == {"inputs": "other keys"}:
        state = json.loads(json.dumps(run.tuners.snapshot()).replace('"a", "b", "c"', '"a", "b", "d"'))
    fresh = model()
    tuners = Tuners({"x": fresh}, settings("chosen"), (7, 0))
    tuners.restore(state)
    assert tuners.snapshot() == Tuners({"x": fresh}, settings("chosen"), (7, 0)).snapshot()
    assert fresh.uses == []


def forge(state: Any, path: list[Any], value: Any) -> Any:
    forged = copy.deepcopy(state)
    place = forged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return forged


X = ["inputs", "x"]
ONE_MAP = [[[0], 16]]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ([*X, "learned", "maps"], [ONE_MAP] * 50_000),
        ([*X, "learned", "maps"], [[[[0], 63]]]),
        ([*X, "learned", "maps"], [[[[0], 20], [[1], 20]]]),
        ([*X, "learned", "maps"], [[[[9], 16]]]),
        ([*X, "learned", "maps"], [[[[], 16]]]),
        ([*X, "learned", "maps"], [[[[0], True]]]),
        ([*X, "learned", "maps"], [[[[0], 16, 7]]]),
        ([*X, "learned", "batches"], -1),
        ([*X, "learned", "wait"], 0),
        ([*X, "learned", "shares"], [[9, 0.5]]),
        ([*X, "learned", "rivals"], [[[ONE_MAP], 0.0]] * 100),
        ([*X, "learned", "rivals"], [[[ONE_MAP], math.inf]]),
        ([*X, "learned", "corrected"], [[1, 1, math.inf]]),
        ([*X, "learned", "corrected"], [[1, 9, 1.0]]),
        ([*X, "assessment", "entries"], [[1, -5, 0]]),
        ([*X, "assessment", "entries"], [[1, 5, 0]] * 100_000),
        ([*X, "assessment"], None),
        ([*X, "observed", "served"], [[0, 1, 2, 3, 4]]),
        ([*X, "trial"], {}),
        ([*X, "keys"], "abc"),
        (["schedule"], {}),
        (["schedule", "periodic", "order"], ["y"]),
        (["inputs"], {}),
        (["batch"], "many"),
    ],
)
def test_a_forged_state_is_refused(path: list[Any], value: Any) -> None:
    run = Run(drift, settings("chosen"), x=model()).go(20)
    fresh = model()
    with pytest.raises(CheckpointError, match="what was learned of searches cannot be read"):
        Tuners({"x": fresh}, settings("chosen"), (7, 0)).restore(forge(run.tuners.snapshot(), path, value))
    assert fresh.uses == []


def test_who_is_told_what_is_to_come_chooses_for_that() -> None:
    """It has the maps of the late searches before they come."""
    names = {1: "a", 2: "b", 3: "a, b", 4: "c", 5: "c, a", 6: "b, c", 7: "a, b, c"}
    coming = [{"x": {names[p]: float(times) for p, times in drift(batch).items()}} for batch in range(45)]
    told = Run(drift, settings("told", coming=coming, schedule="continuous"), x=model()).go(45)
    learned = Run(drift, settings("chosen", schedule="continuous"), x=model()).go(45)
    first = [min(batch for batch in run.switches() if batch > 10) for run in (told, learned)]
    assert first[0] < TURN < first[1]


def test_patterns_beyond_any_table_stay_bounded() -> None:
    """Twelve keys and thousands of patterns: what is kept is not."""
    rng = np.random.default_rng(3)
    names = tuple(f"k{key}" for key in range(12))
    catalog = ModelCatalog(names=names, believed=dict.fromkeys(range(12), 0.01), window=4_000, part_rows=4_000)
    catalog.use([])
    run = Run(lambda batch: {int(p): 20 for p in rng.integers(1, 4_096, 60)}, settings("chosen"), x=catalog).go(12)
    assert len(json.dumps(run.tuners.snapshot())) < 300_000
    assert run.tuners._tuners["x"].assessment.tracked <= 4_096
