"""What the router asks of a policy, and what it tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from eddy.contracts import Classes, Leg, Observation, Outcome, Policy, Task
from eddy.errors import EngineError
from eddy.observe.prices import Prices
from eddy.routing.router import Router
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.lineage import Rule
from tests.policies.checks import steady_clock

A, B, C = Hop("a"), Hop("b"), Hop("c")
Plan = Callable[[Task, tuple[Hop, ...]], Sequence[Leg]]


@dataclass
class Multiples:
    """Lets multiples of a number pass, and remembers whom it has seen."""

    name: str
    of: int
    rule: Rule = Rule()
    seen: list[int] = field(default_factory=list)

    def pattern(self, lineage: Lineage) -> str:
        return ""

    def reads(self, lineage: Lineage) -> frozenset[str]:
        return frozenset()

    def run(self, tuples: Tuples) -> Outcome:
        ids = tuples.ids["s"]
        self.seen.extend(ids.tolist())
        mask = ids % self.of == 0
        return Outcome(tuples=tuples.take(np.flatnonzero(mask)), counts=mask, evaluated=len(tuples))


@dataclass
class Scripted(Policy):
    """Plans what a test says."""

    script: Plan
    observed: list[Observation] = field(default_factory=list)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return self.script(task, ready)

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)


@dataclass
class Blind:
    """A look that sees nothing."""

    rows: int

    def __call__(self, attributes: Sequence[int] | None = None, rows: Any = None) -> Any:
        return np.zeros((self.rows if rows is None else len(rows), 0), np.uint8)

    def refine(self, attributes: Sequence[int]) -> dict[int, Any]:
        return {}

    def numbers(self, attributes: Sequence[int], singly: Any, rows: Any = None) -> Any:
        return self(attributes, rows)

    def editions(self, attributes: Sequence[int] | None = None) -> tuple[int, ...]:
        return ()

    def take(self, rows: Any) -> Blind:
        return Blind(len(rows))

    def join(self, others: Sequence[Blind]) -> Blind:
        return Blind(self.rows + sum(other.rows for other in others))


def route(script: Plan, rows: int = 60) -> tuple[list[int], Scripted, list[Multiples], Router]:
    policy = Scripted(script)
    found, operators, router = route_by(policy, rows)
    return found, policy, operators, router


def route_by(policy: Policy, rows: int = 60) -> tuple[list[int], list[Multiples], Router]:
    operators = [Multiples("a", 2), Multiples("b", 3), Multiples("c", 5)]
    router = Router(
        operators,
        policy,
        "scripted",
        lambda tuples: Blind(len(tuples)),
        steady_clock(),
        Prices(),
    )
    arrived = Tuples(Lineage("s", frozenset("s"), frozenset()), {"s": np.arange(rows)})
    done = list(router.route([arrived], lambda: np.random.default_rng(0)))
    return sorted(i for tuples in done for i in tuples.ids["s"].tolist()), operators, router


def test_a_full_route_is_taken_without_asking_again() -> None:
    found, policy, operators, router = route(lambda task, ready: [Leg(route=(C, B, A))])
    assert found == [0, 30]
    assert router.routing.decisions == 1
    assert [len(operator.seen) for operator in operators] == [4, 12, 60]
    assert [o.hops for o in policy.observed] == [(C,), (B,), (A,)]


def test_legs_take_their_own_routes_and_meet_again() -> None:
    def script(task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        if task.rows == 60:
            return [Leg(route=(A, B), rows=np.arange(30)), Leg(route=(B, A), rows=np.arange(30, 60))]
        return [Leg(route=ready[:1])]

    found, _, operators, router = route(script)
    assert found == [0, 30]
    assert router.routing.decisions == 2
    assert sorted(operators[2].seen) == list(range(0, 60, 6))


def test_an_exhaustive_leg_asks_every_operator_of_every_row() -> None:
    found, policy, operators, _ = route(lambda task, ready: [Leg(route=(A, B, C), exhaustive=True)])
    assert found == [0, 30]
    assert [len(operator.seen) for operator in operators] == [60, 60, 60]
    [observation] = policy.observed
    assert observation.legs[0].exhaustive
    assert [int(outcome.sum()) for outcome in observation.outcomes] == [30, 20, 12]


def test_observations_add_up() -> None:
    def script(task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return [Leg(route=(hop,), rows=np.arange(i, task.rows, len(ready))) for i, hop in enumerate(ready)]

    _, policy, operators, router = route(script)
    for operator in operators:
        rows = sum(len(o.outcomes[0]) for o in policy.observed if o.hops[0].operator == operator.name)
        assert rows == len(operator.seen) == router.routing.operators[Hop(operator.name)].rows_in
        assert len(set(operator.seen)) == len(operator.seen)


@dataclass
class Drowsy(Scripted):
    """Listens every other time that it is asked whether it does."""

    asked: int = 0

    @property
    def is_listening(self) -> bool:
        self.asked += 1
        return self.asked % 2 == 0


@dataclass
class Deaf(Policy):
    """Says nothing of observations, so it does not listen."""

    script: Plan

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return self.script(task, ready)


SCRIPTS: Sequence[Plan] = (
    lambda task, ready: [Leg(route=(C, B, A))],
    lambda task, ready: [Leg(route=ready[:1])],
    lambda task, ready: [Leg(route=ready, exhaustive=True)],
    lambda task, ready: [
        Leg(route=ready, rows=np.arange(task.rows // 2)),
        Leg(route=ready[::-1], rows=np.arange(task.rows // 2, task.rows)),
    ],
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_who_does_not_listen_is_told_nothing_and_all_else_is_the_same(script: Plan) -> None:
    heard = route(script)
    assert heard[1].observed
    for policy in (Deaf(script), Drowsy(script)):
        found, operators, router = route_by(policy)
        assert found == heard[0]
        assert [one.seen for one in operators] == [one.seen for one in heard[2]]
        for hop in (A, B, C):
            assert router.statistics[hop]._replace(seconds=0) == heard[3].statistics[hop]._replace(seconds=0)
            counted = router.routing.operators[hop], heard[3].routing.operators[hop]
            assert counted[0]._replace(seconds=0) == counted[1]._replace(seconds=0)
        assert router.routing.steps == heard[3].routing.steps


def test_a_policy_listens_if_it_has_something_to_say_to_observations() -> None:
    assert not Deaf(SCRIPTS[0]).is_listening
    assert Scripted(SCRIPTS[0]).is_listening


def test_no_rows_ask_nobody() -> None:
    found, policy, _, router = route(lambda task, ready: [Leg(route=ready)], rows=0)
    assert (found, policy.observed, router.routing.decisions) == ([], [], 0)


@pytest.mark.parametrize(
    ("legs", "message"),
    [
        ([], "leave out 60 and repeat 0 of the task's 60 rows"),
        (None, "must plan a list of Leg"),
        (Leg(route=(A,)), "must plan a list of Leg"),
        ((leg for leg in [Leg(route=(A,))]), "must plan a list of Leg"),
        ([(A,)], "must plan a list of Leg"),
        ([Leg(route=())], "a leg's route must be a tuple of hops, at least one"),
        ([Leg(route=cast(Any, A))], "a leg's route must be a tuple of hops"),
        ([Leg(route=cast(Any, ("a",)))], "a leg's route must be a tuple of hops"),
        ([Leg(route=(A,), rows=np.arange(59))], "leave out 1 and repeat 0"),
        ([Leg(route=(A,)), Leg(route=(B,), rows=np.arange(2))], "leave out 0 and repeat 2"),
        ([Leg(route=(A,), rows=np.arange(61))], "rows outside the task's 60"),
        ([Leg(route=(A,), rows=np.arange(-1, 59))], "rows outside the task's 60"),
        ([Leg(route=(A,), rows=cast(Any, np.ones(60, np.bool_)))], r"are bool; for a mask use np.flatnonzero\(mask\)"),
        ([Leg(route=(A,), rows=cast(Any, np.arange(60.0)))], "array of integers, and are float64"),
        ([Leg(route=(A,), rows=cast(Any, list(range(60))))], "array of integers, and are list"),
        ([Leg(route=(A,), classes=cast(Any, "x"))], r"a leg's classes must be Classes\(...\), and are 'x'"),
        (
            [Leg(route=(A,), classes=Classes((0,), [((1,), 59)]))],
            "must have its 60 rows in all",
        ),
        ([Leg(route=(A,), classes=Classes((0,), [((), 60)]))], "a bucket for each of 1 attributes"),
        ([Leg(route=(A, A))], 'operator "a" may not act'),
        ([Leg(route=(A, Hop("d")))], 'operator "d" may not act'),
        ([Leg(route=(A, A), exhaustive=True)], 'operator "a" may not act'),
        ([Leg(route=(A,), aside=((B,),), exhaustive=True)], "an exhaustive leg has nothing aside"),
        ([Leg(route=(A,), aside=cast(Any, (B,)))], "aside must be a tuple of tuples of hops, and is"),
        ([Leg(route=(A,), aside=cast(Any, [(B,)]))], "aside must be a tuple of tuples of hops, and is"),
        ([Leg(route=(A, B), aside=((B,),))], "aside has 1 places, and its route 2"),
        ([Leg(route=(A,), aside=(cast(Any, ("b",)),))], "aside must be a tuple of tuples of hops, and is"),
        ([Leg(route=(A,), aside=((Hop("d"),),))], r"operator \"a\": Hop\(operator='d'.* is not ready for the tuples"),
        ([Leg(route=(A,), aside=((Hop("b", "k"),),))], r"Hop\(operator='b', pattern='k'\) is not ready"),
        ([Leg(route=(A, B), aside=((), (A,)))], "operator \"b\": Hop\\(operator='a'.* is not ready"),
        (
            [Leg(route=(A,), aside=((A,),))],
            "operator \"a\": Hop\\(operator='a'.* would see the tuples dropped there twice",
        ),
        ([Leg(route=(A,), aside=((B, C, B),))], "operator \"a\": Hop\\(operator='b'.* would see .* twice"),
    ],
)
def test_a_policy_that_breaks_the_rules_is_stopped(legs: Any, message: str) -> None:
    with pytest.raises(EngineError, match=f'policy "scripted": .*{message}'):
        route(lambda task, ready: cast(Sequence[Leg], legs))


def test_a_leg_without_rows_asks_nobody() -> None:
    def script(task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return [Leg(route=ready, rows=np.arange(task.rows)), Leg(route=ready[:1], rows=np.arange(0))]

    found, policy, _, _ = route(script)
    assert found == [0, 30]
    assert all(len(o.outcomes[0]) for o in policy.observed)
