"""Where a tuple may go."""

from __future__ import annotations

import pytest

from eddy.errors import EngineError
from eddy.lineage import Hop, Lineage, Machine, Rule

CHAIN = {
    "big": Rule(needs=frozenset("a")),
    "pair": Rule(needs=frozenset("ab")),
    "probe_a": Rule(near=frozenset("b"), gives="a"),
    "probe_b": Rule(near=frozenset("ac"), gives="b"),
    "probe_c": Rule(near=frozenset("b"), gives="c"),
}
"""a - b - c, a filter on a and one on a and b."""


def test_the_first_hops_follow_from_where_a_row_arrived() -> None:
    machine = Machine(CHAIN)
    first = {stream: [hop.operator for hop in machine.ready(machine.start(stream))] for stream in "abc"}
    assert first == {"a": ["big", "probe_b"], "b": ["probe_a", "probe_c"], "c": ["probe_b"]}


def test_a_route_opens_what_it_needs() -> None:
    machine = Machine(CHAIN)
    lineage = machine.after(machine.start("c"), "probe_b")
    assert [hop.operator for hop in machine.ready(lineage)] == ["probe_a"]
    assert machine.ready_after(lineage, [Hop("probe_a"), Hop("pair")]) == (Hop("big"),)


def test_complete_is_everything_spanned_and_every_filter_done() -> None:
    machine = Machine(CHAIN)
    spanned = Lineage(frozenset("abc"), frozenset(["probe_b", "probe_c", "big"]))
    assert not machine.complete(spanned)
    assert machine.complete(machine.after(spanned, "pair"))


def test_a_tuple_that_cannot_go_on_is_not_complete() -> None:
    machine = Machine(
        {"probe_a": Rule(near=frozenset("b"), gives="a"), "probe_c": Rule(near=frozenset("b"), gives="c")}
    )
    assert machine.ready(machine.start("a")) == ()
    assert not machine.complete(machine.start("a"))


@pytest.mark.parametrize("operator", ["probe_c", "pair", "no such operator"])
def test_an_illegal_step_is_refused(operator: str) -> None:
    machine = Machine(CHAIN)
    with pytest.raises(EngineError, match=f'operator "{operator}" may not act on a tuple that spans "a"'):
        machine.after(machine.start("a"), operator)


def test_a_step_is_not_taken_twice() -> None:
    machine = Machine(CHAIN)
    with pytest.raises(EngineError, match='has done "big"'):
        machine.after(machine.after(machine.start("a"), "big"), "big")
