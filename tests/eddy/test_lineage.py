"""Where a tuple may go."""

from __future__ import annotations

import pytest

from eddy.errors import EngineError
from eddy.tuples import Hop, Lineage
from eddy.tuples.lineage import Machine, Rule

CHAIN = {
    "big": Rule(needs=frozenset("a")),
    "pair": Rule(needs=frozenset("ab")),
    "probe_a": Rule(near=frozenset([frozenset("b")]), gives=frozenset("a")),
    "probe_b": Rule(near=frozenset([frozenset("a"), frozenset("c")]), gives=frozenset("b")),
    "probe_c": Rule(near=frozenset([frozenset("b")]), gives=frozenset("c")),
}
"""a - b - c, a filter on a and one on a and b."""


def machine_of(rules: dict[str, Rule]) -> Machine:
    return Machine(rules, {name: lambda lineage: "".join(sorted(lineage.spans)) for name in rules})


def test_the_first_hops_follow_from_where_a_row_arrived() -> None:
    machine = machine_of(CHAIN)
    first = {stream: [hop.operator for hop in machine.ready(machine.start(stream))] for stream in "abc"}
    assert first == {"a": ["big", "probe_b"], "b": ["probe_a", "probe_c"], "c": ["probe_b"]}


def test_a_route_opens_what_it_needs() -> None:
    machine = machine_of(CHAIN)
    lineage = machine.after(machine.start("c"), "probe_b")
    assert [hop.operator for hop in machine.ready(lineage)] == ["probe_a"]
    assert machine.ready_after(lineage, [Hop("probe_a"), Hop("pair")]) == (Hop("big", "abc"),)


def test_complete_is_everything_spanned_and_every_filter_done() -> None:
    machine = machine_of(CHAIN)
    spanned = Lineage("a", frozenset("abc"), frozenset(["probe_b", "probe_c", "big"]))
    assert not machine.is_complete(spanned)
    assert machine.is_complete(machine.after(spanned, "pair"))


def test_a_tuple_that_cannot_go_on_is_not_complete() -> None:
    near_b = frozenset([frozenset("b")])
    machine = machine_of(
        {"probe_a": Rule(near=near_b, gives=frozenset("a")), "probe_c": Rule(near=near_b, gives=frozenset("c"))}
    )
    assert machine.ready(machine.start("a")) == ()
    assert not machine.is_complete(machine.start("a"))


def test_all_inputs_of_a_condition_are_needed() -> None:
    machine = machine_of({"probe_c": Rule(near=frozenset([frozenset("ab")]), gives=frozenset("c"))})
    assert machine.ready(Lineage("a", frozenset("a"), frozenset())) == ()
    assert machine.ready(Lineage("a", frozenset("ab"), frozenset())) == (Hop("probe_c", "ab"),)


@pytest.mark.parametrize("operator", ["probe_c", "pair", "no such operator"])
def test_an_illegal_step_is_refused(operator: str) -> None:
    machine = machine_of(CHAIN)
    with pytest.raises(EngineError, match=f'operator "{operator}" may not act on a tuple that spans "a"'):
        machine.after(machine.start("a"), operator)


def test_a_step_is_not_taken_twice() -> None:
    machine = machine_of(CHAIN)
    with pytest.raises(EngineError, match='has done "big"'):
        machine.after(machine.after(machine.start("a"), "big"), "big")


STAR = {
    "big": Rule(needs=frozenset("a")),
    **{f"probe_{name}": Rule(near=frozenset([frozenset("a")]), gives=frozenset([name])) for name in "bc"},
    **{f"meets_{name}": Rule(near=frozenset([frozenset("a")]), lacks=name, optional=True) for name in "bc"},
}
"""a in the middle, and an option for each of the others."""


def options(machine: Machine, lineage: Lineage) -> list[str]:
    return [hop.operator for hop in machine.options(lineage)]


def test_an_option_is_never_ready_and_nobody_waits_for_it() -> None:
    machine = machine_of(STAR)
    start = machine.start("a")
    assert {hop.operator for hop in machine.ready(start)} == {"big", "probe_b", "probe_c"}
    assert options(machine, start) == ["meets_b", "meets_c"]
    assert machine.options_after(start, [Hop("meets_b")]) == (Hop("meets_c", "a"),)
    assert machine.is_complete(Lineage("a", frozenset("abc"), frozenset(["big", "probe_b", "probe_c"])))
    assert not machine.is_complete(Lineage("a", frozenset("abc"), frozenset(STAR) - {"big"}))
    assert options(machine, machine.start("b")) == []


@pytest.mark.parametrize("asked", [[], ["meets_b"], ["meets_c", "meets_b"]])
def test_options_change_nothing_for_the_others(asked: list[str]) -> None:
    constant = {name: lambda lineage: "" for name in STAR}
    machine, without = Machine(STAR, constant), Machine({n: r for n, r in STAR.items() if not r.optional}, constant)
    lineage = start = machine.start("a")
    for name in asked:
        lineage = machine.after(lineage, name)
    assert machine.ready(lineage) == without.ready(start)
    assert machine.is_independent(lineage) == without.is_independent(start) is True
    assert machine.is_complete(lineage) == without.is_complete(start) is False


def test_a_tuple_that_was_asked_about_what_it_spans_is_like_one_that_was_not() -> None:
    machine = machine_of(STAR)
    asked = machine.after(machine.after(machine.start("a"), "meets_b"), "meets_c")
    assert machine.after(asked, "probe_b") == Lineage("a", frozenset("ab"), frozenset(["probe_b", "meets_c"]))
    last = machine.after(machine.after(asked, "probe_b"), "probe_c")
    assert last == machine.after(machine.after(machine.start("a"), "probe_b"), "probe_c")
    assert options(machine, last) == []


@pytest.mark.parametrize("done", [["meets_b"], ["probe_b"]])
def test_an_option_is_taken_once_and_before_its_input_is_spanned(done: list[str]) -> None:
    machine = machine_of(STAR)
    lineage = machine.start("a")
    for name in done:
        lineage = machine.after(lineage, name)
    with pytest.raises(EngineError, match='operator "meets_b" may not act'):
        machine.after(lineage, "meets_b")


JOINED = {
    "probe_b": Rule(near=frozenset([frozenset("a")]), gives=frozenset("b")),
    "probe_c": Rule(near=frozenset([frozenset("b")]), gives=frozenset("c")),
    "probe_d": Rule(near=frozenset([frozenset("c")]), gives=frozenset("d")),
    "cached_b_c": Rule(
        near=frozenset([frozenset("a")]),
        gives=frozenset("bc"),
        does=frozenset(["probe_b", "probe_c"]),
        optional=True,
    ),
}


def test_several_inputs_at_once_are_as_if_probes_had_joined_them() -> None:
    machine = machine_of(JOINED)
    start = machine.start("a")
    assert [hop.operator for hop in machine.ready(start)] == ["probe_b"]
    assert [hop.operator for hop in machine.options(start)] == ["cached_b_c"]
    cached = machine.after(start, "cached_b_c")
    assert cached == machine.after(machine.after(start, "probe_b"), "probe_c")
    assert [hop.operator for hop in machine.ready(cached)] == ["probe_d"]
    assert machine.is_complete(machine.after(cached, "probe_d"))


def test_a_tuple_that_spans_one_of_them_is_not_given_several() -> None:
    machine = machine_of(JOINED)
    assert machine.options(machine.after(machine.start("a"), "probe_b")) == ()


def test_a_tuple_that_was_refused_goes_on_without_the_option() -> None:
    machine = machine_of(JOINED)
    refused = machine.refuse(machine.start("a"), "cached_b_c")
    assert machine.options(refused) == ()
    assert [hop.operator for hop in machine.ready(refused)] == ["probe_b"]
    # Once it spans one of the inputs, nobody can tell it from one that was never asked.
    assert machine.after(refused, "probe_b") == machine.after(machine.start("a"), "probe_b")
