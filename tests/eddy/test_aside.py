"""Hops that see, to learn, what a leg has lost: what they tell, what they cost, and what they must not change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.contracts import NOTHING, UNSEEN, Leg, Observation, Policy, Task
from eddy.operators import matching
from eddy.routing import aside, side_by_side
from eddy.tuples import Hop
from tests.eddy.test_engine import batch, calls, engine, pairs, query
from tests.eddy.test_router import A, B, C, route
from tests.policies.wild import Wild

OF = {A: 2, B: 3, C: 5}
"""What a tuple must be a multiple of to pass."""

ROWS = 60


def truth(hop: Hop, rows: Iterable[int]) -> list[int]:
    return [int(row % OF[hop] == 0) for row in rows]


def profile_of(observed: Sequence[Observation]) -> Observation:
    """The one profile; it is told of after all steps."""
    [profile] = [o for o in observed if o.is_profile]
    assert observed[-1] is profile
    return profile


def told(profile: Observation) -> dict[str, list[int]]:
    assert {outcome.dtype for outcome in profile.outcomes} == {np.dtype(np.int64)}
    return {h.operator: outcome.tolist() for h, outcome in zip(profile.hops, profile.outcomes, strict=True)}


def test_all_later_filters_aside_tell_of_every_tuple() -> None:
    leg = Leg(route=(C, B, A), aside=((B, A), (A,), ()))
    found, policy, operators, router = route(lambda task, ready: [leg])
    assert found == [0, 30]
    profile = profile_of(policy.observed)
    assert (profile.origin, profile.legs, profile.rows, profile.hops) == ("s", (leg,), (ROWS,), (C, B, A))
    assert told(profile) == {hop.operator: truth(hop, range(ROWS)) for hop in (A, B, C)}
    assert profile.buckets().shape == (ROWS, 0)
    assert [sorted(operator.seen) for operator in operators] == [list(range(ROWS))] * 3
    # C lets 12 pass, and B 4 of these: B is asked aside about the other 48, and A about all but those 4, in one call.
    assert profile.statistics[0] == NOTHING
    assert [(s.rows_in, s.evaluated, s.rows_out) for s in profile.statistics[1:]] == [(48, 48, 16), (56, 56, 28)]
    assert [router.statistics[hop].rows_in for hop in (C, B, A)] == pytest.approx([60, 12, 4])
    assert [router.routing.operators[hop].rows_in for hop in (C, B, A)] == [60, 60, 60]
    assert [router.routing.steps[hop] for hop in (C, B, A)] == [1, 2, 2]


def test_a_hop_that_is_not_aside_has_not_seen_what_was_dropped() -> None:
    leg = Leg(route=(C, B), aside=((), (A,)))
    found, policy, _, _ = route(lambda task, ready: [leg] if len(ready) == 3 else [Leg(route=ready)])
    assert found == [0, 30]
    [profile] = [o for o in policy.observed if o.is_profile]
    assert profile.hops == (C, B, A)
    came = [row % 5 == 0 for row in range(ROWS)]
    assert told(profile) == {
        "c": truth(C, range(ROWS)),
        "b": [b if c else UNSEEN for b, c in zip(truth(B, range(ROWS)), came, strict=True)],
        "a": [
            a if c and not b else UNSEEN
            for a, b, c in zip(truth(A, range(ROWS)), truth(B, range(ROWS)), came, strict=True)
        ],
    }


def test_places_with_nobody_aside_still_make_a_profile_of_what_passed() -> None:
    _, policy, operators, _ = route(lambda task, ready: [Leg(route=(C, B, A), aside=((), (), ()))])
    profile = profile_of(policy.observed)
    assert profile.statistics == (NOTHING,) * 3
    assert [int((outcome != UNSEEN).sum()) for outcome in profile.outcomes] == [60, 12, 4]
    assert [len(operator.seen) for operator in operators] == [4, 12, 60]


def test_legs_that_walk_together_are_told_of_together() -> None:
    """Of four legs two have asides; what the others lose is nobody's business."""
    legs = [
        Leg(route=(C, B, A), rows=np.arange(0, 60, 4), aside=((A,), (), ()), tag="first"),
        Leg(route=(C, A, B), rows=np.arange(1, 60, 4)),
        Leg(route=(B, C, A), rows=np.arange(2, 60, 4), aside=((C, A), (A,), ()), tag="second"),
        Leg(route=(A, B, C), rows=np.arange(3, 60, 4), exhaustive=True),
    ]
    found, policy, operators, router = route(lambda task, ready: legs if task.rows == ROWS else [Leg(route=ready)])
    assert found == [0, 30]
    profiles = [o for o in policy.observed if o.is_profile]
    assert [profile.legs[0].exhaustive for profile in profiles] == [True, False]
    profile = profiles[1]
    assert [leg.tag for leg in profile.legs] == ["first", "second"]
    assert (profile.rows, profile.hops) == ((15, 15), (C, B, A))
    rows = [*range(0, 60, 4), *range(2, 60, 4)]
    assert told(profile)["c"] == truth(C, rows)
    assert told(profile)["a"][15:] == truth(A, rows[15:])
    assert [n for n, b in zip(rows, told(profile)["b"], strict=True) if b == UNSEEN] == [n for n in rows[:15] if n % 5]
    assert [n for n, a in zip(rows, told(profile)["a"], strict=True) if a == UNSEEN] == [
        n for n in rows[:15] if n % 5 == 0 and n % 3
    ]
    for operator in operators:
        assert len(operator.seen) == len(set(operator.seen))
    # Beside the steps each hop is called once by the exhaustive leg, and A and C once for all that is aside.
    steps = [o.hops[0] for o in policy.observed if not o.is_profile]
    assert {hop: router.routing.steps[hop] - steps.count(hop) for hop in (A, B, C)} == {A: 2, B: 1, C: 2}


@pytest.mark.parametrize("rows", [0, 1])
def test_few_tuples_are_no_matter(rows: int) -> None:
    legs = [Leg(route=(A, B, C), aside=((B,), (C,), ()))]
    found, policy, _, _ = route(lambda task, ready: legs, rows)
    assert found == [0][:rows]
    assert [o.rows for o in policy.observed if o.is_profile] == [(1,)] * rows


@given(
    order=st.permutations([A, B, C]),
    length=st.integers(1, 3),
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=4),
    chosen=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_a_hop_has_seen_what_came_to_it_and_what_it_is_aside_of(
    order: Sequence[Hop], length: int, sizes: Sequence[int], chosen: Sequence[bool]
) -> None:
    """Any route for any number of legs, with anything aside: each sees a tuple at most once, and tells the truth."""
    total = sum(sizes)
    picks = iter(chosen)
    aside_of = tuple(
        tuple(hop for hop in order[place + 1 :] if next(picks, False)) for place in range(len(order[:length]))
    )
    starts = np.cumsum([0, *sizes]).tolist()
    legs = [
        Leg(route=tuple(order[:length]), rows=np.arange(start, start + size), aside=aside_of)
        for start, size in zip(starts, sizes, strict=False)
    ]
    _, policy, operators, _ = route(lambda task, ready: legs if len(ready) == 3 else [Leg(route=ready)], total)
    for profile in [o for o in policy.observed if o.is_profile]:
        seen = told(profile)
        for row in range(total):
            dropped = next((place for place, hop in enumerate(order[:length]) if row % OF[hop]), length)
            sees = {*order[: dropped + 1][:length], *(aside_of[dropped] if dropped < length else ())}
            for hop in profile.hops:
                assert seen[hop.operator][row] == (int(row % OF[hop] == 0) if hop in sees else UNSEEN)
    assert bool(total) == any(o.is_profile for o in policy.observed)
    for operator in operators:
        assert len(operator.seen) == len(set(operator.seen))


STREAM = eddy.Stream("a", time="ts", window=eddy.Range(10), delay=0)
STAR = eddy.Query(
    streams=[STREAM],
    tables=[eddy.Table("t"), eddy.Table("u")],
    joins=["a.k = t.k", "a.ts = u.ts"],
    filters=[eddy.Filter("odd", on="a", where="k % 2 = 1"), eddy.Filter("big", on="t", where="ts > 5")],
    select=["a.ts as a", "t.ts as b"],
)
T = batch(t=[(1, 1), (6, 1), (7, 1), (8, 2), (2, 3), (3, 9), (9, 5)])["t"]
U = batch(u=[(3, 0), (3, 0), (4, 0), (6, 0), (7, 0), (8, 0), (8, 0)])["u"]
ARRIVED = [(3, 1), (4, 2), (5, 3), (6, 4), (7, 9), (8, 5)]
"""With t: 3, 1, 1, 0, 1 and 1 rows; with u: 2, 1, 0, 1, 1 and 2; odd but for the second and fourth."""


@dataclass
class Routed(Policy):
    """Plans a route by name, with names aside, for tuples that have just arrived; then whatever is ready."""

    names: Sequence[str]
    aside: Sequence[Sequence[str]]
    observed: list[Observation] = field(default_factory=list)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        if task.lineage.done or self.names[0] not in [hop.operator for hop in ready]:
            return [Leg(route=ready[:1])]
        route: list[Hop] = []
        beside = []
        for name, others in zip(self.names, self.aside, strict=True):
            hops = {hop.operator: hop for hop in task.after(route)}
            beside.append(tuple(hops[other] for other in others))
            route.append(hops[name])
        return [Leg(route=tuple(route), aside=tuple(beside))]

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)


PROFILES: list[tuple[list[str], list[list[str]], Mapping[str, list[int]]]] = [
    (
        ["odd", "probe_t", "probe_u"],
        [["probe_t", "probe_u"], ["probe_u"], []],
        {"odd": [1, 0, 1, 0, 1, 1], "probe_t": [3, 1, 1, 0, 1, 1], "probe_u": [2, 1, 0, 1, 1, 2]},
    ),
    (
        # What a tuple says at u does not depend on its rows of t, however many they are.
        ["probe_t", "probe_u", "odd"],
        [["odd"], ["odd"], []],
        {"probe_t": [3, 1, 1, 0, 1, 1], "probe_u": [2, 1, 0, UNSEEN, 1, 2], "odd": [1, 0, 1, 0, 1, 1]},
    ),
    (
        # A filter of t has said nothing about the tuple itself; what it drops is lost where nothing of it is left.
        ["probe_t", "big", "probe_u"],
        [[], ["odd", "probe_u"], []],
        {
            "probe_t": [3, 1, 1, 0, 1, 1],
            "big": [UNSEEN] * 6,
            "probe_u": [2, 1, 0, UNSEEN, 1, 2],
            "odd": [UNSEEN, UNSEEN, 1, UNSEEN, 1, UNSEEN],
        },
    ),
    (
        ["probe_t", "odd", "big"],
        [["probe_u"], ["big", "probe_u"], []],
        {
            "probe_t": [3, 1, 1, 0, 1, 1],
            "odd": [1, 0, 1, UNSEEN, 1, 1],
            "big": [UNSEEN] * 6,
            "probe_u": [UNSEEN, 1, UNSEEN, 1, UNSEEN, UNSEEN],
        },
    ),
]


@pytest.mark.parametrize(("names", "beside", "expected"), PROFILES)
@pytest.mark.parametrize("most", [1, 2, 1 << 18])
def test_probes_tell_of_a_tuple_by_itself(
    names: list[str], beside: list[list[str]], expected: Mapping[str, list[int]], most: int
) -> None:
    """Also where a probe stops after a candidate or two, and goes its way in parts."""
    policy = Routed(names, beside)
    running = engine(STAR, lambda _: policy, t=T, u=U)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_CANDIDATES", most)
        assert pairs(running, a=ARRIVED) == [(3, 6), (3, 6), (3, 7), (3, 7), (8, 9), (8, 9)]
    [profile] = [o for o in policy.observed if o.is_profile]
    assert told(profile) == expected


def test_a_hot_key_aside_comes_to_an_end() -> None:
    """A probe aside stops when it has looked at enough; what it has not come to is unseen."""
    hot = batch(t=[(1, 7)] * 1_000)["t"]
    policy = Routed(["odd", "probe_t"], [["probe_t"], []])
    asked = eddy.Query(
        streams=[STREAM],
        tables=[eddy.Table("t")],
        joins=["a.k = t.k"],
        filters=[eddy.Filter("odd", on="a", where="ts < 0")],
        select=["a.ts as a", "t.ts as b"],
    )
    running = engine(asked, lambda _: policy, t=hot)
    rows = 3_000
    assert pairs(running, a=[(5, 7)] * rows) == []
    [profile] = [o for o in policy.observed if o.is_profile]
    outcome = np.array(told(profile)["probe_t"])
    seen = int((outcome != UNSEEN).sum())
    assert outcome.tolist() == [1_000] * seen + [UNSEEN] * (rows - seen)
    assert aside.MOST_LOOKED_AT <= seen * 1_000 < aside.MOST_LOOKED_AT + matching.MOST_CANDIDATES
    assert calls(running)["probe_t"].evaluated == seen * 1_000


def test_legs_that_walk_in_parts_are_told_of_in_order() -> None:
    """A crowd is cut, and what is ahead goes to its end first: every outcome is told of the tuple that it is about."""

    class Split(Routed):
        def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
            if task.lineage.done:
                return [Leg(route=ready[:1])]
            t, u, odd = (next(h for h in ready if h.operator == name) for name in ("probe_t", "probe_u", "odd"))
            routes = {(t, u, odd): ((odd,), (odd,), ()), (odd, t, u): ((t, u), (u,), ())}
            return [
                Leg(route=way, rows=np.arange(n, task.rows, 2), aside=beside)
                for n, (way, beside) in enumerate(routes.items())
            ]

    rows = sorted(ARRIVED * 20)
    expected = {"probe_t": [3, 1, 1, 0, 1, 1], "probe_u": [2, 1, 0, 1, 1, 2], "odd": [1, 0, 1, 0, 1, 1]}
    for most in (0, 3, 40):
        policy = Split((), ())
        running = engine(STAR, lambda _, policy=policy: policy, t=T, u=U)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matching, "MOST_CANDIDATES", 7)
            patch.setattr(side_by_side, "MOST_TOGETHER", most)
            assert len(pairs(running, a=rows)) == 6 * 20
        [profile] = [o for o in policy.observed if o.is_profile]
        assert profile.rows == (60, 60)
        at = [*range(0, 120, 2), *range(1, 120, 2)]
        for name, outcome in told(profile).items():
            whole = [expected[name][n // 20] for n in at]
            if name == "probe_u":
                # Those without a row of t are lost there, and u is not aside of that on the first way.
                whole = [UNSEEN if n // 20 == 3 and n % 2 == 0 else count for n, count in zip(at, whole, strict=True)]
            assert outcome == whole


def remembers(seen: list[int], without: int = -1) -> Callable[[int], bool]:
    """A function that lets even times pass, remembers whom it was asked about, and has no answer for one."""

    def passes(ts: int) -> bool:
        seen.append(ts)
        if ts == without:
            raise ValueError("no answer")
        return ts % 2 == 0

    return passes


def test_what_a_filter_said_aside_is_known_when_the_row_is_met_again() -> None:
    """Rows of a find nothing in b and are lost; the filter has seen them aside, and is not asked when b comes."""
    seen: list[int] = []
    policy = Routed(["probe_b", "f"], [["f"], []])
    filters = [eddy.Filter("f", on="a", function=remembers(seen), columns=["ts"], rowwise=True)]
    running = engine(query(filters=filters), lambda _: policy)
    assert pairs(running, a=[(1, 7), (2, 7), (3, 8), (4, 9)], b=[]) == []
    assert told(profile_of(policy.observed)) == {"probe_b": [0] * 4, "f": [0, 1, 0, 1]}
    assert seen == [1, 2, 3, 4]
    policy.names, policy.aside = ["probe_a"], [[]]
    assert pairs(running, a=[], b=[(5, 7), (6, 8)]) == [(2, 5)]
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("on_error", ["fail", "drop", "keep"])
def test_a_fault_aside_is_no_error_and_is_counted_once(on_error: str) -> None:
    """Nobody has an answer to miss about a row that is lost; a combination with it that comes to its end has."""
    seen: list[int] = []
    policy = Routed(["probe_b", "f"], [["f"], []])
    judge = remembers(seen, without=3)
    filters = [eddy.Filter("f", on="a", function=judge, columns=["ts"], rowwise=True, on_error=on_error)]
    running = engine(query(filters=filters), lambda _: policy)
    assert pairs(running, a=[(2, 7), (3, 7)], b=[]) == []
    assert told(profile_of(policy.observed))["f"] == [1, 0 if on_error == "drop" else 1]
    assert [(fault.predicate, fault.rows) for fault in running.read_counters().faults] == [("f", 1)]
    policy.names, policy.aside = ["probe_a"], [[]]
    if on_error == "fail":
        with pytest.raises(eddy.QueryError, match=r"Everything else lets it pass"):
            pairs(running, a=[], b=[(5, 7)])
    else:
        assert pairs(running, a=[], b=[(5, 7)]) == ([(2, 5), (3, 5)] if on_error == "keep" else [(2, 5)])
        assert list(running.read_counters().faults) == []
    assert seen == [2, 3]


def test_rows_that_are_skipped_aside_are_told_of() -> None:
    """A function that is not asked about nulls: they do not pass, aside as on the way."""
    policy = Routed(["odd", "f"], [["f"], []])
    filters = [
        eddy.Filter("odd", on="a", where="ts % 2 = 1"),
        eddy.Filter("f", on="a", function=lambda k: True, columns=["k"], rowwise=True, nulls="skip"),
    ]
    asked = eddy.Query(streams=[STREAM], filters=filters, select=["a.ts as a", "a.ts as b"])
    rows: list[Any] = [(1, None), (2, None), (3, 5), (4, 5)]
    running = engine(asked, lambda _: policy)
    assert pairs(running, a=rows) == [(3, 3)]
    assert told(profile_of(policy.observed)) == {"odd": [1, 0, 1, 0], "f": [0, 0, 1, 1]}
    assert profile_of(policy.observed).statistics[1].skipped == 1
    assert calls(running)["f"].skipped == 2


def test_a_filter_that_waits_for_another_is_not_asked_before_it() -> None:
    filters = [eddy.Filter("odd", on="a", where="k % 2 = 1"), eddy.Filter("f", on="a", where="k > 2", after="odd")]
    asked = query(filters=filters)
    with pytest.raises(eddy.errors.EngineError, match=r"operator='f'.* is not ready for the tuples dropped there"):
        pairs(engine(asked, Early), a=[(1, 1)], b=[])
    policy = Routed(["odd", "probe_b", "f"], [["probe_b"], ["f"], []])
    running = engine(asked, lambda _: policy)
    assert pairs(running, a=[], b=[(1, 1), (2, 2)]) == []
    policy.observed.clear()
    assert pairs(running, a=[(3, 1), (4, 2), (5, 5)], b=[]) == []
    assert told(profile_of(policy.observed)) == {
        "odd": [1, 0, 1],
        "probe_b": [1, 1, 0],
        "f": [0, UNSEEN, 1],
    }


@pytest.mark.parametrize("seed", range(12))
def test_a_filter_sees_a_row_once_whatever_is_aside(seed: int) -> None:
    """Also rows that are stored, met again, and probed for along a path; a filter of two inputs each combination."""
    chance, names = np.random.default_rng(seed), "abc" if seed % 2 else "ab"
    rows = {name: list(enumerate(chance.integers(0, 6, 40).tolist())) for name in names}
    seen: dict[str, list[Any]] = {"fa": [], "fb": [], "fab": []}

    def judge(name: str) -> Callable[..., bool]:
        def passes(*times: int) -> bool:
            seen[name].append(times)
            return sum(times) % 3 != seed % 3

        return passes

    filters = [
        eddy.Filter("fa", on="a", function=judge("fa"), columns=["ts"], rowwise=True),
        eddy.Filter("fb", on="b", function=judge("fb"), columns=["ts"], rowwise=True),
        eddy.Filter("fab", on=["a", "b"], function=judge("fab"), columns=["a.ts", "b.ts"], rowwise=True, after="fb"),
    ]
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(30), delay=40) for name in names]
    asked = query(streams=streams, joins=["a.k = b.k", "b.ts % 6 = c.k"][: len(names) - 1], filters=filters)
    found = {}
    for policy in ("fixed", Wild):
        for told_of in seen.values():
            told_of.clear()
        running = engine(asked, policy)
        batches = [{name: part[start : start + 8] for name, part in rows.items()} for start in range(0, 40, 8)]
        found[policy] = [pairs(running, **part) for part in batches]
        # With c a combination of a and b may be in several.
        once = [told_of for name, told_of in seen.items() if name != "fab" or "c" not in names]
        assert all(len(told_of) == len(set(told_of)) > 0 for told_of in once)
    assert found["fixed"] == found[Wild]
    assert any(found[Wild])


class Early(Policy):
    """Has a filter aside of the one that it waits for."""

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        odd = next(hop for hop in ready if hop.operator == "odd")
        return [Leg(route=(odd,), aside=((Hop("f"),),))]
