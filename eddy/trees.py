"""The trees by which policies tell classes apart, as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from eddy.divider import Named
from eddy.observe import Decision

MOST_VALUES = 5
"""Values of a branch that are named: what more there are says less than their number."""

Names = Callable[[str, Sequence[int], Sequence[Sequence[int]]], Sequence[Named]]
"""Names classes by their stream, its attributes, and the buckets of each class."""


class Trees:
    """The trees of what was decided last for each stream, in words; each is made once."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[str, tuple[int, Sequence[str]]] = {}

    def lines(self, decisions: Sequence[Decision]) -> Mapping[str, Sequence[str]]:
        """For each stream one line for each branch, indented by its level, and one for each way at its end."""
        for decision in decisions:
            known = self._known.get(decision.stream)
            if known is None or known[0] != decision.number:
                self._known[decision.stream] = (decision.number, tuple(_lines(decision, self._names)))
        return {decision.stream: self._known[decision.stream][1] for decision in decisions}


def _lines(decision: Decision, names: Names) -> Iterator[str]:
    for branch in decision.tree:
        indent = "  " * branch.level
        if branch.attribute is not None:
            attribute = branch.attribute
            named = names(decision.stream, (attribute,), [(bucket,) for bucket in branch.buckets])
            yield indent + _together([text for _, text in named])
        if branch.way is not None:
            yield f"{indent}-> {' > '.join(decision.ways[branch.way].route)}"


def _together(texts: Sequence[str]) -> str:
    """The values of one attribute.

    >>> _together(["kind=1", "kind=4"])
    'kind=1 or 4'
    """
    column, _, first = texts[0].partition("=")
    values = list(dict.fromkeys([first, *(text.partition("=")[2] for text in texts[1:])]))
    if len(values) > MOST_VALUES:
        values = [*values[:MOST_VALUES], f"{len(values) - MOST_VALUES} more"]
    return f"{column}={' or '.join(values)}"
