"""What is counted of the routes of a micro-batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.contracts import Classes, Leg, Task
from eddy.observe.counters import VARIOUS
from eddy.policies.fixed import Fixed
from eddy.routing.tally import MOST_OTHER_ROUTES, MOST_ROUTES, RouteTally, TalliedRoutes
from eddy.tuples import Hop, Lineage

START = Lineage("s", frozenset("s"), frozenset())
A, B = Hop("a"), Hop("b")


def names(_stream: str, attributes: Sequence[int], classes: Sequence[Sequence[int]]) -> list[tuple[str, str]]:
    """A class is what its buckets are, and is called by them and something more."""
    return [(f"{attributes}{list(buckets)}", f"class {list(buckets)}") for buckets in classes]


def counted(*legs: Leg) -> TalliedRoutes:
    routing = RouteTally()
    for leg in legs:
        rows = 10 if leg.classes is None else sum(rows for _, rows in leg.classes.sizes)
        routing.start(START, leg, rows)
    return routing.routes(names)


def leg(route: tuple[Hop, ...], sizes: Sequence[int]) -> Leg:
    return Leg(route=route, classes=Classes((0,), [((number,), rows) for number, rows in enumerate(sizes)]))


def test_a_class_has_a_row_for_each_route() -> None:
    found = counted(leg((A, B), [5, 0, 2]), leg((B, A), [1]), leg((A, B), [3]), Leg(route=(A,), label="profiling"))
    assert found.counted == {
        ("s", "(0,)[0]", ("a", "b")): 8,
        ("s", "(0,)[2]", ("a", "b")): 2,
        ("s", "(0,)[0]", ("b", "a")): 1,
        ("s", "profiling", ("a",)): 10,
    }
    assert found.names == {
        ("s", "(0,)[0]"): "class [0]",
        ("s", "(0,)[2]"): "class [2]",
        ("s", "profiling"): "profiling",
    }


def test_only_rows_that_have_done_nothing_begin_a_route() -> None:
    routing = RouteTally()
    routing.start(START._replace(done=frozenset("a")), Leg(route=(B,)), 10)
    assert routing.routes(names) == ({}, {})


@pytest.mark.parametrize("classes", [MOST_ROUTES - 1, MOST_ROUTES, MOST_ROUTES + 1, 10 * MOST_ROUTES])
@pytest.mark.parametrize("routes", [1, 4, 10 * MOST_OTHER_ROUTES])
def test_the_largest_classes_are_counted_and_the_rest_together(classes: int, routes: int) -> None:
    sizes = np.random.default_rng(0).integers(1, 100, classes)
    parts = np.array_split(sizes, routes)
    found = counted(*(leg((A,) * (n + 1), part.tolist()) for n, part in enumerate(parts) if len(part))).counted
    others = {route: rows for route, rows in found.items() if route[1] == "others"}
    assert sum(found.values()) == sizes.sum()
    assert len(found) - len(others) <= MOST_ROUTES
    assert len(others) <= MOST_OTHER_ROUTES + 1
    assert (not others) == (classes <= MOST_ROUTES)
    assert (("s", "others", VARIOUS) in others) == (len(others) > MOST_OTHER_ROUTES)


class Stray(Fixed):
    """Names a class by an attribute that it never asked for."""

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return [Leg(route=ready[:1], classes=Classes((3,), [((0,), task.rows)]))]


def test_a_class_by_an_attribute_that_is_not_there_is_the_policys_mistake() -> None:
    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=[eddy.Filter("f", on="s", where="ts > 1")])
    with pytest.raises(eddy.EddyError, match=r'policy ".*Stray": .*stream "s" are in the policy\'s features.*\[3\]'):
        eddy.run_local(asked, {"s": pa.table({"ts": [1, 2]})}, policy=Stray)
