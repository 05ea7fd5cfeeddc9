"""The state machine: which operators may act on a tuple next.

| an operator may act on a tuple when | filter | probe | meets | cached |
| --- | --- | --- | --- | --- |
| it has not acted on it yet | yes | yes | yes | yes |
| the tuple spans all of `needs` | the inputs that the filter reads | | | |
| all of `after` have acted on it | the filters that must see it first | | | |
| the tuple spans all of one of `near`, where there are any | | what some join condition needs | the same | the same |
| the tuple spans nothing of `gives` yet | | the input that is probed | | the inputs that are joined |
| the tuple does not span `lacks` yet | | | the input that is asked | |
| and it must, before the tuple is complete: it is not `optional` | yes | yes | no | no |

Afterwards the operator is done, or those are that it `does`, and the tuple spans `gives` too. A tuple is complete when
it spans every input that is probed for and every filter is done. Nothing else decides where a tuple may go.

What is optional is told apart from all that: it is an option and never ready, nobody waits for it, and a tuple that
spans what it asked about is as if it had not acted. It may also refuse a tuple, which then goes on without it.

Probes wait for no filter, so every tuple that is not dropped comes to span all inputs, and then each filter acts once
those in its `after` have: without a circle none is out of reach, whatever inputs it reads. `done` is about this tuple:
what a filter said of a stored row counts as done only once this tuple has asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeVar

from eddy.errors import EngineError, quote

MOST_KNOWN_LINEAGES = 4_096
"""Lineages that are kept with what may follow them: twelve operators in any order have no more. With twenty there
are a million, and a policy that draws comes to hundreds of new ones in every micro-batch."""


class Lineage(NamedTuple):
    """A tuple's origin, its inputs, and what has acted on it.

    The origin is the stream whose row set the tuple off; `done` are the operators that have acted on it.
    """

    origin: str
    spans: frozenset[str]
    done: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """An operator's row in the table above."""

    needs: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    near: frozenset[frozenset[str]] = frozenset()
    gives: frozenset[str] = frozenset()
    does: frozenset[str] = frozenset()
    lacks: str | None = None
    optional: bool = False

    def is_settled(self, spans: frozenset[str]) -> bool:
        """Tell whether a tuple spans all that the operator would give it."""
        return bool(self.gives) and self.gives <= spans

    def is_about(self, inputs: frozenset[str]) -> bool:
        """Tell whether an option asks about some inputs, or joins them."""
        return self.lacks in inputs or not self.gives.isdisjoint(inputs)


class Hop(NamedTuple):
    """An operator and the access pattern that it uses.

    How many tuples a probe returns depends on what it searches by, so the two together have statistics.
    """

    operator: str
    pattern: str = ""


After = Callable[[Sequence[Hop]], tuple[Hop, ...]]
"""Lists the hops that are ready after a route."""

K = TypeVar("K")
V = TypeVar("V")


class Memo(dict[K, V]):
    """What was found out once for each key; all of it is forgotten where it becomes too much, and found out again.

    >>> known = Memo(len)
    >>> known["abc"], known
    (3, {'abc': 3})
    """

    def __init__(self, find: Callable[[K], V]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, key: K) -> V:
        found = self._find(key)
        if len(self) >= MOST_KNOWN_LINEAGES:
            self.clear()
        self[key] = found
        return found


class Machine:
    """The table for one query, and the transitions it allows."""

    def __init__(self, rules: Mapping[str, Rule], patterns: Mapping[str, Callable[[Lineage], str]]) -> None:
        self._rules = dict(rules)
        self._required = {name: rule for name, rule in rules.items() if not rule.optional}
        self._optional = {name: rule for name, rule in rules.items() if rule.optional}
        self._patterns = dict(patterns)
        # Asked for every batch of tuples, and there are few lineages: the table is read once for each.
        self._ready: Memo[Lineage, tuple[Hop, ...]] = Memo(lambda lineage: self._find_allowed(lineage, self._required))
        self._options: Memo[Lineage, tuple[Hop, ...]] = Memo(
            lambda lineage: self._find_allowed(lineage, self._optional)
        )
        self._after = Memo(self._advance)
        self._independent = Memo(self._find_independent)
        self._complete = Memo(self._find_complete)
        self._paths = Memo(self._find_route)
        self._along = Memo(self._find_along)

    def start(self, stream: str) -> Lineage:
        """Give the lineage of a row that has just arrived."""
        return Lineage(stream, frozenset([stream]), frozenset())

    def ready(self, lineage: Lineage) -> tuple[Hop, ...]:
        """List the hops that may be next.

        They stand in the order in which the query lists the operators.
        """
        return self._ready[lineage]

    def options(self, lineage: Lineage) -> tuple[Hop, ...]:
        """List the optional hops that may be next."""
        return self._options[lineage]

    def after(self, lineage: Lineage, operator: str) -> Lineage:
        """Give a tuple's lineage once an operator has acted on it."""
        return self._after[lineage, operator]

    def _advance(self, key: tuple[Lineage, str]) -> Lineage:
        lineage, operator = key
        if not self.may_act(lineage, operator):
            raise self._forbid(lineage, operator)
        rule = self._rules[operator]
        done = lineage.done | (rule.does or {operator})
        if not rule.gives:
            return Lineage(lineage.origin, lineage.spans, done)
        # Tuples that were asked about an input and tuples that were not are alike once they span it.
        asked = {name for name, other in self._optional.items() if other.is_about(rule.gives)}
        return Lineage(lineage.origin, lineage.spans | rule.gives, done - asked)

    def refuse(self, lineage: Lineage, operator: str) -> Lineage:
        """Give a tuple's lineage once an option has refused it: it has been asked, and has done nothing else."""
        return lineage._replace(done=lineage.done | {operator})

    def ready_after(self, lineage: Lineage, route: Sequence[Hop]) -> tuple[Hop, ...]:
        """List the hops that may be next once a route has been taken."""
        return self.ready(self._follow(lineage, route))

    def options_after(self, lineage: Lineage, route: Sequence[Hop]) -> tuple[Hop, ...]:
        """List the optional hops that may be next once a route has been taken."""
        return self.options(self._follow(lineage, route))

    def along(self, lineage: Lineage, route: Sequence[Hop]) -> tuple[Lineage, ...]:
        """List the lineages that a tuple has along a route: one before each hop, and one at the end."""
        return self._along[lineage, tuple(route)]

    def _find_along(self, key: tuple[Lineage, tuple[Hop, ...]]) -> tuple[Lineage, ...]:
        lineage, route = key
        return tuple(accumulate(route, lambda before, hop: self.after(before, hop.operator), initial=lineage))

    def _follow(self, lineage: Lineage, route: Sequence[Hop]) -> Lineage:
        return self.along(lineage, route)[-1]

    def may_act(self, lineage: Lineage, operator: str) -> bool:
        """Tell whether an operator may be next; an option may, too."""
        return any(hop.operator == operator for hop in (*self.ready(lineage), *self.options(lineage)))

    def find_path(self, lineage: Lineage, route: Sequence[Hop], hop: Hop) -> tuple[Hop, ...]:
        """Find the probes of a route that a probe needs, with the probe itself at their end.

        Of several ways it is the first on which the probe has its pattern.
        """
        return self._paths[lineage, tuple(route), hop]

    def _find_route(self, key: tuple[Lineage, tuple[Hop, ...], Hop]) -> tuple[Hop, ...]:
        lineage, route, hop = key
        if not self.is_probe(hop.operator):
            raise self._forbid(lineage, hop.operator)
        return self._find_near(lineage, route, hop) or self._find_far(lineage, route, hop)

    def _find_near(self, lineage: Lineage, route: Sequence[Hop], hop: Hop) -> tuple[Hop, ...]:
        """Find a path that ends in the path of another probe; () where there is none."""
        for place, one in enumerate(route):
            if self.is_probe(one.operator):
                is_first = self.may_act(lineage, one.operator)
                before = (one,) if is_first else self.find_path(lineage, route[:place], one)
                if hop in self.ready_after(lineage, before):
                    return (*before, hop)
        return ()

    def _find_far(self, lineage: Lineage, route: Sequence[Hop], hop: Hop) -> tuple[Hop, ...]:
        """Find a path for a probe that needs several others, which do not need each other."""
        probes = [one.operator for one in route if self.is_probe(one.operator)]
        path = find_spanning_path(lambda before: self.ready_after(lineage, before), probes, hop.operator)
        if not path:
            raise self._forbid(lineage, hop.operator)
        if path[-1] != hop:
            needed = quote(one.operator for one in path[:-1])
            raise EngineError(f"{hop!r} must be {path[-1]!r} where it follows {needed}")
        return path

    def is_independent(self, lineage: Lineage) -> bool:
        """Tell whether only ready hops are left, in any order.

        Then a whole route can be planned at once.
        """
        return self._independent[lineage]

    def _find_independent(self, lineage: Lineage) -> bool:
        ready = self.ready(lineage)
        # What is not ready yet waits for some of these hops, so their order matters.
        left = [n for n, r in self._required.items() if n not in lineage.done and not r.is_settled(lineage.spans)]
        return len(ready) == len(left) and all(self._keeps_pattern(lineage, hop, ready) for hop in ready)

    def _keeps_pattern(self, lineage: Lineage, hop: Hop, ready: Sequence[Hop]) -> bool:
        """Tell whether a hop is the same once all others have acted."""
        others = [other.operator for other in ready if other != hop]
        given = [self._rules[name].gives for name in others]
        last = Lineage(lineage.origin, lineage.spans.union(*given), lineage.done.union(others))
        return self._patterns[hop.operator](last) == hop.pattern

    def adds(self, operator: str) -> bool:
        """Tell whether tuples span other inputs after an operator.

        They do after a probe, and do not after a filter.
        """
        return bool(self._rules[operator].gives)

    def is_probe(self, operator: str) -> bool:
        """Tell whether an operator must act, and tuples span another input after it."""
        return operator in self._required and self.adds(operator)

    def is_complete(self, lineage: Lineage) -> bool:
        """Tell whether every operator that has to act has acted."""
        return self._complete[lineage]

    def _find_complete(self, lineage: Lineage) -> bool:
        return all(name in lineage.done or rule.is_settled(lineage.spans) for name, rule in self._required.items())

    def _find_allowed(self, lineage: Lineage, rules: Mapping[str, Rule]) -> tuple[Hop, ...]:
        """List the hops among some that may be next, in the order of the query."""
        allowed = [name for name, rule in rules.items() if self._allows(lineage, name, rule)]
        return tuple(Hop(name, self._patterns[name](lineage)) for name in allowed)

    def _forbid(self, lineage: Lineage, operator: str) -> EngineError:
        return EngineError(
            f'operator "{operator}" may not act on a tuple that spans {quote(sorted(lineage.spans))} '
            f"and has done {quote(sorted(lineage.done)) or 'nothing'}; a route must be legal step by step"
        )

    def _allows(self, lineage: Lineage, name: str, rule: Rule) -> bool:
        return (
            name not in lineage.done
            and rule.needs <= lineage.spans
            and rule.after <= lineage.done
            and (not rule.near or any(inputs <= lineage.spans for inputs in rule.near))
            and rule.gives.isdisjoint(lineage.spans)
            and rule.lacks not in lineage.spans
        )


def find_spanning_path(after: After, probes: Sequence[str], probe: str) -> tuple[Hop, ...]:
    """Find which of some probes another one needs, and put it behind them; () where all are too few.

    Of several ways it is that by the probes that are named first: a spanning tree of a join graph with circles, where
    the same probes stand in the same order. `after` lists the hops that are ready after a route.
    """
    path = _write_route(after, [*probes, probe])
    if not path:
        return path
    names = list(probes)
    for name in reversed(probes):
        fewer = [other for other in names if other != name]
        if shorter := _write_route(after, [*fewer, probe]):
            names, path = fewer, shorter
    return path


def _write_route(after: After, operators: Sequence[str]) -> tuple[Hop, ...]:
    """Write the route by some operators, each with the pattern that it has by then; () where that is illegal."""
    route: list[Hop] = []
    for operator in operators:
        hop = next((hop for hop in after(route) if hop.operator == operator), None)
        if hop is None:
            return ()
        route.append(hop)
    return tuple(route)
