"""What steps did, and the decayed statistics that sum it up.

Statistics add up: the statistic of two batches is the sum of theirs, and a decayed one is a sum in which older
rows weigh less. They are plain numbers, so they survive a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eddy.classes.divider import NameClasses


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """How a policy has used one operator since it began.

    `kind` says what the calls were: "classified" by the attribute, "unclassified", or "profiling" to learn. The gain
    ratio is that of the attribute when it was last measured.
    """

    operator: str
    kind: str
    attribute: str
    gain_ratio: float
    calls: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RouteCost:
    """A route that a policy has decided on: which share of a stream's rows it is for, and what a row costs on it.

    `predicted` and `observed` are in the unit of the policy's costs: seconds, or calls.
    """

    route: tuple[str, ...]
    share: float
    predicted: float
    observed: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A line of a decision tree: at some level, the buckets of an attribute, by number; or the number of a way."""

    level: int
    attribute: int | None = None
    buckets: tuple[int, ...] = ()
    way: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What a policy last decided for a stream: which ways there are, who takes which, when and why.

    `seconds` is how long it took to decide.
    """

    stream: str
    number: int
    reason: str
    seconds: float
    ways: tuple[RouteCost, ...]
    tree: tuple[Branch, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Insight:
    """What a policy has done, and why: how it has used operators since it began, and what it last decided."""

    uses: Sequence[Use] = ()
    decisions: Sequence[Decision] = ()


NO_INSIGHT = Insight()


MOST_VALUES = 5
"""Values of a branch that are named: what more there are says less than their number."""


class Trees:
    """The trees of what was decided last for each stream, in words; each is made once."""

    def __init__(self, names: NameClasses) -> None:
        self._names = names
        self._known: dict[str, tuple[int, Sequence[str]]] = {}

    def lines(self, decisions: Sequence[Decision]) -> Mapping[str, Sequence[str]]:
        """For each stream one line for each branch, indented by its level, and one for each way at its end."""
        for decision in decisions:
            known = self._known.get(decision.stream)
            if known is None or known[0] != decision.number:
                self._known[decision.stream] = (decision.number, tuple(_lines(decision, self._names)))
        return {decision.stream: self._known[decision.stream][1] for decision in decisions}


def _lines(decision: Decision, names: NameClasses) -> Iterator[str]:
    for branch in decision.tree:
        indent = "  " * branch.level
        if branch.attribute is not None:
            attribute = branch.attribute
            named = names(decision.stream, (attribute,), [(bucket,) for bucket in branch.buckets])
            yield indent + _join_values([text for _, text in named])
        if branch.way is not None:
            yield f"{indent}-> {' > '.join(decision.ways[branch.way].route)}"


def _join_values(texts: Sequence[str]) -> str:
    """The values of one attribute.

    >>> _join_values(["kind=1", "kind=4"])
    'kind=1 or 4'
    """
    column, _, first = texts[0].partition("=")
    values = list(dict.fromkeys([first, *(text.partition("=")[2] for text in texts[1:])]))
    if len(values) > MOST_VALUES:
        values = [*values[:MOST_VALUES], f"{len(values) - MOST_VALUES} more"]
    return f"{column}={' or '.join(values)}"
