"""What a cache is about: some inputs, what joins them with each other, and what joins others with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

from eddy.operators.conditions import Conditions, JoinPair, Residual, Side
from eddy.operators.keys import Key

MOST_PARTS = 24
"""Parts of a join that can be cached; the smallest are. Five inputs have as many, and whoever chooses among a hundred
thinks longer than it saves."""

LARGEST_PART = 4
"""Inputs that a cache holds combinations of, at most: all orders in which they may be found are gone through."""


@dataclass(frozen=True)
class CacheKey:
    """The sides of equalities, all of inputs of the cache, whose codes a combination is looked up by.

    `brought` says for each side which is the first that tuples bring the same code for: of `s.k = r.k` and `s.k = t.k`
    rows of s bring one code for both, so combinations whose `r.k` and `t.k` differ are never asked for.
    """

    sides: tuple[Side, ...]
    brought: tuple[int, ...]

    @property
    def text(self) -> str:
        """Write it for people, and as the access pattern of hops."""
        same = [
            [s.text for s, at in zip(self.sides, self.brought, strict=True) if at == n] for n in range(len(self.sides))
        ]
        return ", ".join(" = ".join(texts) for texts in same if texts)

    def list_alike(self) -> list[JoinPair]:
        """List the sides of different inputs that tuples bring one code for, as equalities among the inputs."""
        pairs = combinations(zip(self.sides, self.brought, strict=True), 2)
        alike = [(one, other) for (one, at), (other, to) in pairs if at == to and one.input != other.input]
        return [JoinPair(sides={s.input: s for s in pair}, ops={s.input: "=" for s in pair}) for pair in alike]

    def list_own(self, name: str) -> list[tuple[int, Key]]:
        """List the sides of an input: their places among all, and their keys."""
        return [(place, side.key) for place, side in enumerate(self.sides) if side.input == name]


class Scope:
    """The inputs of a cache and the conditions that are about them."""

    def __init__(self, inputs: frozenset[str], conditions: Conditions) -> None:
        self.inputs = tuple(sorted(inputs))
        self._all = conditions
        self.equalities = [e for e in conditions.equalities if inputs.issuperset(e.sides)]
        self.orders = [o for o in conditions.orders if inputs.issuperset(o.sides)]
        self.residuals = [r for r in conditions.residuals if r.inputs <= inputs]

    def list_outer(self, spans: frozenset[str]) -> list[JoinPair]:
        """List the equalities between the cache's inputs and some others."""
        return [
            e
            for e in self._all.equalities
            if len(spans.intersection(e.sides)) == 1 and len(set(self.inputs).intersection(e.sides)) == 1
        ]

    def list_residuals(self, spans: frozenset[str]) -> list[tuple[Residual, bool]]:
        """List the conditions that are complete once a tuple spans the cache's inputs, as probes would ask them.

        Each with whether it is about the cache's inputs alone.
        """
        found = []
        joined = set(spans)
        for name in self.inputs:
            joined.add(name)
            complete = [r for r in self._all.residuals if name in r.inputs and r.inputs <= joined]
            found += [(residual, residual in self.residuals) for residual in complete]
        return found

    def find_key(self, spans: frozenset[str]) -> tuple[CacheKey, tuple[Side, ...]]:
        """Find by what tuples look combinations up: the cache's sides, and that of the tuples for each of these."""
        found: dict[Key, tuple[Side, Side]] = {}
        for one in self.list_outer(spans):
            own, other = _sort_sides(one, spans)
            found.setdefault(own.key, (own, other))
        pairs = sorted(found.values(), key=lambda pair: (pair[0].input, pair[0].text))
        others = tuple(other for _, other in pairs)
        codes = [other.key for other in others]
        return CacheKey(tuple(own for own, _ in pairs), tuple(map(codes.index, codes))), others

    def find_left(self, spans: frozenset[str]) -> Conditions:
        """Find the conditions that say more about a tuple and a combination than that their key is the same.

        Those among the cache's own inputs hold for all combinations that are kept, and residuals are asked apart.
        """
        key, others = self.find_key(spans)
        settled = [
            (own.key, other.key)
            for own, other in zip(key.sides, others, strict=True)
            if own.key.exact and other.key.exact
        ]
        equalities = []
        for one in self.list_outer(spans):
            own, other = _sort_sides(one, spans)
            if (own.key, other.key) not in settled:
                equalities.append(one)
        orders = [o for o in self._all.orders if o not in self.orders]
        return Conditions(equalities=equalities, orders=orders, residuals=())

    def is_faulty(self, spans: frozenset[str]) -> bool:
        """Tell whether the key of some row cannot be computed, so that no index finds what it joins with."""
        joined = spans.union(self.inputs)
        pairs = [p for p in (*self._all.equalities, *self._all.orders) if joined.issuperset(p.sides)]
        return any(side.key.faulty for p in pairs for side in p.sides.values() if not spans.issuperset(p.sides))


def _sort_sides(pair: JoinPair, spans: frozenset[str]) -> tuple[Side, Side]:
    """Give the side of a cache's input, and that of a tuple that spans some others."""
    own, other = sorted(pair.sides.values(), key=lambda side: side.input in spans)
    return own, other


def list_parts(
    inputs: Sequence[str], streams: Sequence[str], near: Mapping[str, frozenset[frozenset[str]]], joins: Conditions
) -> Iterator[tuple[frozenset[str], frozenset[frozenset[str]]]]:
    """List the parts of a join that can be cached, the smallest first, each with what a tuple must span before."""
    for size in range(2, min(len(inputs) - 1, LARGEST_PART) + 1):
        for names in combinations(inputs, size):
            part = frozenset(names)
            before = _find_before(part, near, joins)
            # Some row must come that sets a tuple off and is not of the part.
            if before and not part.issuperset(streams) and _is_connected(part, joins):
                yield part, before


def _find_before(
    part: frozenset[str], near: Mapping[str, frozenset[frozenset[str]]], joins: Conditions
) -> frozenset[frozenset[str]]:
    """List the inputs of which a tuple must span one set, so that probes could find the part, and a key is there."""
    reached = set()
    for order in permutations(part):
        for chosen in product(*(near[name] or [frozenset()] for name in order)):
            needs = [needed - set(order[:place]) for place, needed in enumerate(chosen)]
            if all(part.isdisjoint(one) for one in needs):
                reached.add(frozenset[str]().union(*needs))
    partners = {name for e in joins.equalities if len(part & e.sides.keys()) == 1 for name in e.sides.keys() - part}
    return _keep_least({one | {partner} for one in reached for partner in partners})


def _keep_least(sets: Iterable[frozenset[str]]) -> frozenset[frozenset[str]]:
    known = set(sets)
    return frozenset(one for one in known if not any(other < one for other in known))


def _is_connected(part: frozenset[str], joins: Conditions) -> bool:
    """Tell whether conditions connect the inputs of a part, each by itself or by one key of another input."""
    links = [part & e.sides.keys() for e in (*joins.equalities, *joins.orders)]
    links += [part & r.inputs for r in joins.residuals]
    shared: dict[Key, set[str]] = {}
    for e in joins.equalities:
        for name, side in e.sides.items():
            shared.setdefault(side.key, set()).update(e.sides.keys() - {name})
    links += [part & names for names in shared.values()]
    reached = {min(part)}
    while more := [link for link in links if link & reached and not link <= reached]:
        reached.update(*more)
    return reached >= part
