"""The operators that may act next, once a set of them is done.

Routes are made of numbers here, and sets of operators are bits of an integer. What may follow is asked of `Task.after`
once for each set: it depends on what has been done and not on the order. The access pattern of a probe depends on it
too, so a route becomes hops only when it is known as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eddy.errors import EngineError
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers
from eddy.tuples.lineage import After

HopNumbers = tuple[int, ...]

MOST_ROUTES_KEPT = 1_000
"""Routes whose hops are kept: a mesh has tens of them, and lotteries draw a few orders of each in every round."""

MOST_SETS_KEPT = 4_096
"""Sets of operators that are kept with what may follow them: all sets of twelve."""


class Legality:
    """The hops that are ready after a set of operators.

    Operators that are not listed are left out of routes: whoever lists the operators decides what is routed. `free` are
    hops that may come in any order, if all may: then nobody has to be asked about 2^n sets.

    >>> hops = (Hop("cheap"), Hop("dear"))
    >>> legality = Legality(("cheap", "dear"), lambda route: tuple(hop for hop in hops if hop not in route))
    >>> legality.find_ready((1,)), legality.hops((1, 0))
    ((0,), (Hop(operator='dear', pattern=''), Hop(operator='cheap', pattern='')))
    """

    def __init__(self, operators: Sequence[str], after: After, *, free: Sequence[Hop] = ()) -> None:
        self.operators = tuple(operators)
        self._numbers = {name: number for number, name in enumerate(operators)}
        self._after = after
        self._free = {self._numbers[hop.operator]: hop for hop in free if hop.operator in self._numbers}
        self._known: dict[int, Mapping[int, Hop]] = {}
        self._tables: tuple[Integers, Integers] | None = None
        self._layers: tuple[list[tuple[Integers, Integers]], dict[int, Integers]] | None = None
        self._hops: dict[HopNumbers, tuple[Hop, ...]] = {}

    @property
    def is_free(self) -> bool:
        """Whether all operators may come in any order, for sure."""
        return len(self._free) == len(self.operators)

    def find_ready(self, route: Sequence[int]) -> HopNumbers:
        """List the operators that may follow a legal route.

        They are in the order of the query.
        """
        return tuple(sorted(self.find_ready_hops(route)))

    def hops(self, route: HopNumbers) -> tuple[Hop, ...]:
        """Give a legal route as hops.

        Each has the access pattern that it has by then.
        """
        known = self._hops.get(route)
        if known is None:
            if len(self._hops) >= MOST_ROUTES_KEPT:
                self._hops.clear()
            known = self._hops[route] = self._find_hops(route)
        return known

    def _find_hops(self, route: HopNumbers) -> tuple[Hop, ...]:
        found: list[Hop] = []
        for place, number in enumerate(route):
            ready = self.find_ready_hops(route[:place])
            if number not in ready:
                done = [self.operators[n] for n in route[:place]]
                raise EngineError(f'operator "{self.operators[number]}" may not act on a tuple that has done {done}')
            found.append(ready[number])
        return tuple(found)

    def tables(self) -> tuple[Integers, Integers]:
        """List the sets that legal routes come to.

        For each set and operator, 1 if the operator is ready, else 0.
        """
        if self._tables is None:
            self._tables = self._list_sets() if self._free else self._walk_sets()
        return self._tables

    def layers(self) -> tuple[list[tuple[Integers, Integers]], dict[int, Integers]]:
        """List the sets of operators by size, with the set after each operator; and the latter for each set.

        The largest come first, so that a set is priced when all that follow it are.
        """
        # Sets of operators are bits of an integer: 0b10 is operator 1 alone. For two operators that are always ready:
        #
        #     done    00        01        10        11
        #     steps   01 10     X  11     11 X      X  X     the set after each operator; X is `nowhere`
        #
        # Nobody goes on from a set with nothing ready.
        if self._layers is None:
            done, ready = self.tables()
            operators, size = len(self.operators), np.bitwise_count(done)
            nowhere = 1 << operators
            steps = np.where(ready > 0, done[:, None] | (1 << np.arange(operators)), nowhere)
            going = ready.any(axis=1)
            found = [
                (done[layer], steps[layer])
                for layer in (np.flatnonzero(going & (size == s)) for s in range(operators - 1, -1, -1))
                if len(layer)
            ]
            pairs = [zip(masks.tolist(), nexts, strict=True) for masks, nexts in found]
            self._layers = found, {mask: following for layer in pairs for mask, following in layer}
        return self._layers

    def _list_sets(self) -> tuple[Integers, Integers]:
        done = np.arange(1 << len(self.operators))
        return done, 1 - (done[:, None] >> np.arange(len(self.operators)) & 1)

    def _walk_sets(self) -> tuple[Integers, Integers]:
        reached: dict[int, tuple[HopNumbers, HopNumbers]] = {}
        waiting: list[HopNumbers] = [()]
        while waiting:
            route = waiting.pop()
            done = bits(route)
            if done not in reached:
                reached[done] = (route, self.find_ready(route))
                waiting += [(*route, number) for number in reached[done][1]]
        ready = np.zeros((len(reached), len(self.operators)), np.int64)
        for row, (_, numbers) in zip(ready, reached.values(), strict=True):
            row[list(numbers)] = 1
        return np.array(list(reached), np.int64), ready

    def find_ready_hops(self, route: Sequence[int]) -> Mapping[int, Hop]:
        """Give the operators that may follow a legal route, as hops."""
        done = bits(route)
        found = self._known.get(done)
        if found is None and len(self._known) >= MOST_SETS_KEPT:
            self._known.clear()
        if found is None and self._free:
            found = self._known[done] = {n: hop for n, hop in self._free.items() if not done >> n & 1}
        elif found is None:
            hops = self._after(self._find_hops(tuple(route)))
            found = {self._numbers[hop.operator]: hop for hop in hops if hop.operator in self._numbers}
            self._known[done] = found
        return found


def bits(numbers: Sequence[int]) -> int:
    """A set of numbers as the bits of one.

    >>> bits([0, 3])
    9
    """
    found = 0
    for number in numbers:
        found |= 1 << number
    return found
