"""The join graph: the inputs that conditions connect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def probe_name(target: str) -> str:
    """Name the operator that probes an input."""
    return f"probe_{target}"


def meets_name(target: str) -> str:
    """Name the operator that asks whether an input has a match."""
    return f"meets_{target}"


def cached_name(inputs: Iterable[str]) -> str:
    """Name the operator that joins several inputs at once.

    >>> cached_name({"c", "b"})
    'cached_b_c'
    """
    return "_".join(["cached", *sorted(inputs)])


def is_cached(operator: str) -> bool:
    """Tell whether an option joins several inputs at once, by its name.

    >>> is_cached(cached_name("bc"))
    True
    """
    return operator.startswith(cached_name([""]))


def whole_name(inputs: Iterable[str]) -> str:
    """Name the operator that joins several inputs at once, all of whose combinations are kept.

    >>> whole_name({"c", "b"})
    'whole_b_c'
    """
    return "_".join(["whole", *sorted(inputs)])


def is_kept_whole(operator: str) -> bool:
    """Tell whether an option joins inputs all of whose combinations are kept, by its name."""
    return operator.startswith(whole_name([""]))


RESERVED = (meets_name(""), cached_name([""]), whole_name([""]))
"""How names of operators begin that a join may have besides its probes: filters have others."""


def probe_target(probe: str) -> str:
    """Give the input that an operator probes.

    >>> probe_target(probe_name("b"))
    'b'
    """
    return probe.removeprefix(probe_name(""))


def is_meets(operator: str) -> bool:
    """Tell whether an option asks whether an input has a match, by its name."""
    return operator.startswith(meets_name(""))


def find_option(probe: str) -> str:
    """Name the operator that may go before a probe.

    >>> find_option(probe_name("b"))
    'meets_b'
    """
    return meets_name(probe_target(probe))


def find_reachable(start: str, sets: Sequence[frozenset[str]]) -> set[str]:
    """Find the inputs that a tuple can come to span.

    It comes to them one at a time, each by a condition with those before.

    >>> sorted(find_reachable("a", [frozenset("ab"), frozenset("abc"), frozenset("de")]))
    ['a', 'b', 'c']
    """
    reached = {start}
    # A condition leads to its last input once all others are reached:   {a} -ab-> {a b} -abc-> {a b c}
    while more := {name for inputs in sets for name in inputs - reached if inputs - {name} <= reached}:
        reached |= more
    return reached


def find_near(target: str, inputs: Iterable[str], sets: Sequence[frozenset[str]]) -> frozenset[frozenset[str]]:
    """List the sets of inputs of which a tuple must span one.

    Only then an input is probed. `sets` are the inputs of each join predicate. A set is what some predicate needs, or
    any input from which no predicates lead here.

    >>> sorted(map(sorted, find_near("c", "abc", [frozenset("ab"), frozenset("abc")])))
    [['a', 'b']]
    """
    # No join leads from these inputs to the target: with `cross` each of their rows joins all of its rows.
    apart = [frozenset([name]) for name in inputs if target not in find_reachable(name, sets)]
    return frozenset([*(others - {target} for others in sets if target in others), *apart])
