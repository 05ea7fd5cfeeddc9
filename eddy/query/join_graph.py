"""The state machine: what a tuple has done, and where it may go.

| an operator may act on a tuple when | filter | probe |
| --- | --- | --- |
| it has not acted on it yet | yes | yes |
| the tuple spans all of `needs` | the inputs that the filter reads | |
| the tuple spans all of one of `near`, where there are any | | what some join condition needs |
| the tuple does not span `gives` yet | | the input that is probed |

Afterwards the operator is done, and the tuple spans `gives` too. A tuple is complete when it spans every input that
is probed for and every filter is done. Nothing else decides where a tuple may go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def probe_name(target: str) -> str:
    """What the operator that probes an input is called."""
    return f"probe_{target}"


def find_reachable(start: str, sets: Sequence[frozenset[str]]) -> set[str]:
    """The inputs that a tuple can come to span, one at a time, each by a condition with those before.

    >>> sorted(find_reachable("a", [frozenset("ab"), frozenset("abc"), frozenset("de")]))
    ['a', 'b', 'c']
    """
    reached = {start}
    while more := {name for inputs in sets for name in inputs - reached if inputs - {name} <= reached}:
        reached |= more
    return reached


def near(target: str, inputs: Iterable[str], sets: Sequence[frozenset[str]]) -> frozenset[frozenset[str]]:
    """What a tuple must span before an input is probed, given the sets of inputs that join predicates are about.

    That is what some predicate needs, or any input from which no predicates lead here.

    >>> sorted(map(sorted, near("c", "abc", [frozenset("ab"), frozenset("abc")])))
    [['a', 'b']]
    """
    apart = [frozenset([name]) for name in inputs if target not in find_reachable(name, sets)]
    return frozenset([*(others - {target} for others in sets if target in others), *apart])
