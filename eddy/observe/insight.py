"""Why a policy did what it did: uses, decisions, trees.

Statistics add up: the statistic of two batches is the sum of theirs, and a decayed one is a sum in which older
rows weigh less. They are plain numbers, so they survive a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eddy.classes.divider import NameClasses

MOST_VALUES = 5
"""Values of a branch that are named: those beyond say less than their number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """The calls of one operator that a policy has accounted for.

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
    """A route that a policy has decided on, with its cost.

    `share` is the part of a stream's rows that it is for. `predicted` and `observed` are the cost of a row, in the
    unit of the policy's costs: seconds, or calls.
    """

    route: tuple[str, ...]
    share: float
    predicted: float
    observed: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A line of a decision tree: an attribute's buckets, or a way."""

    level: int
    attribute: int | None = None
    buckets: tuple[int, ...] = ()
    way: int | None = None


DecisionKey = tuple[str, str, int]
"""A stream, who decided, and the number of the decision."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A policy's last decision about a stream, and its reason.

    `ways` are the routes that there are, `tree` says which rows take which. `seconds` is how long it took to decide.
    `policy` is who decided, where one policy has others decide for it. Each of them numbers its decisions about a
    stream by itself.
    """

    stream: str
    number: int
    reason: str
    seconds: float
    ways: tuple[RouteCost, ...] = ()
    tree: tuple[Branch, ...] = ()
    policy: str = ""

    @property
    def key(self) -> DecisionKey:
        """What tells it from all other decisions of a run."""
        return self.stream, self.policy, self.number


WRITTEN_ORDER = "written order"
"""The `arm` of an account while no policy is in charge."""


class Regret(NamedTuple):
    """What adapting has cost a stream, and what it has saved.

    `state` says what the policy was doing at the end, "idle", "sampling", "in a duel" or "in charge", and `arm` by
    whom rows were routed. `spent` are the seconds of the stream's rows, everything that the policy costs included;
    `written` is what the written order would have taken, give or take `error`, one standard error. `saved` is what the
    operators took less than in the written order; `sampling`, `duels`, `control` and `learning` is what was spent
    besides: spent = written - saved + sampling + duels + control + learning. A policy tells of all that has been; the
    engine reports what is new in each micro-batch.
    """

    stream: str
    state: str
    arm: str
    spent: float
    written: float
    error: float
    saved: float
    sampling: float
    duels: float
    control: float
    learning: float

    def divide(self, unit: float) -> Regret:
        """Write it in another unit than seconds."""
        stream, state, arm, *costs = self
        return Regret(stream, state, arm, *(cost / unit for cost in costs))


class CacheNote(NamedTuple):
    """What a policy thinks of a cache in the route of a stream.

    `cache` and `key` are as `CacheCount` has them. It stands in for the hops of `route`, and `state` says whether it
    does. In a round it saves the stream `benefit`, and to keep it up takes `cost`, whoever asks it: seconds, or calls.
    """

    stream: str
    operator: str
    cache: str
    key: str
    route: tuple[str, ...]
    state: str
    benefit: float
    cost: float
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Insight:
    """A policy's uses of operators, its last decisions, the accounts of the last micro-batch, and its caches."""

    uses: Sequence[Use] = ()
    decisions: Sequence[Decision] = ()
    regrets: Sequence[Regret] = ()
    caches: Sequence[CacheNote] = ()

    def divide(self, unit: float) -> Insight:
        """Write costs in another unit than seconds, of which one is so many."""
        decisions = [
            replace(
                d,
                ways=tuple(
                    replace(way, predicted=way.predicted / unit, observed=way.observed / unit) for way in d.ways
                ),
            )
            for d in self.decisions
        ]
        caches = [note._replace(benefit=note.benefit / unit, cost=note.cost / unit) for note in self.caches]
        regrets = [regret.divide(unit) for regret in self.regrets]
        return replace(self, decisions=decisions, regrets=regrets, caches=caches)


NO_INSIGHT = Insight()


class Trees:
    """The trees of the last decisions in words, each made once."""

    def __init__(self, names: NameClasses) -> None:
        self._names = names
        self._known: Mapping[DecisionKey, Sequence[str]] = {}

    def lines(self, decisions: Sequence[Decision]) -> Mapping[DecisionKey, Sequence[str]]:
        """Write a line for each branch, and for each way at its end.

        Lines are indented by the level of their branch. Decisions without a tree have none.
        """
        known = self._known
        # A tree is decided seldom, and reported with every micro-batch.
        self._known = {d.key: known.get(d.key) or tuple(_lines(d, self._names)) for d in decisions if d.tree}
        return self._known

    def snapshot(self) -> list[list[Any]]:
        """Give the lines as they were written: ranges of values may have moved since."""
        return [[*key, list(lines)] for key, lines in self._known.items()]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._known = {(stream, policy, number): tuple(lines) for stream, policy, number, lines in rows}


def _lines(decision: Decision, names: NameClasses) -> Iterator[str]:
    for branch in decision.tree:
        indent = "  " * branch.level
        if branch.attribute is not None:
            attribute = branch.attribute
            named = names(decision.stream, (attribute,), [(bucket,) for bucket in branch.buckets])
            yield indent + _join_values([text for _, text in named], branch.buckets)
        if branch.way is not None:
            yield f"{indent}-> {' > '.join(decision.ways[branch.way].route)}"


def _join_values(texts: Sequence[str], buckets: Sequence[int]) -> str:
    """Join the values of one attribute into a text.

    Ranges of neighbouring buckets are one range.

    >>> _join_values(["kind=1", "kind=4"], [0, 3])
    'kind=1 or 4'
    >>> _join_values(["x=..2", "x=2..3", "x=3..4.5", "x=6..7", "x=null"], [0, 1, 2, 5, 24])
    'x=..4.5 or 6..7 or null'
    """
    column = texts[0].partition("=")[0]
    joined: list[str] = []
    for place, value in enumerate(text.partition("=")[2] for text in texts):
        ends = value.partition("..")
        if place and ends[1] and buckets[place] == buckets[place - 1] + 1 and joined[-1].count("..") == 1:
            joined[-1] = f"{joined[-1].partition('..')[0]}..{ends[2]}"
        else:
            joined.append(value)
    values = list(dict.fromkeys(joined))
    if len(values) > MOST_VALUES:
        values = [*values[:MOST_VALUES], f"{len(values) - MOST_VALUES} more"]
    return f"{column}={' or '.join(values)}"
