"""The cheapest way on from every set of operators that legal routes come to.

What is left to pay depends on which operators are done, and not on their order. So all sets are priced at once, the
largest first, with a few array operations for each size; a route is read off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from eddy.policies.shared.legality import HopNumbers, Legality, bits
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Onward:
    """What is left to pay from each set on, and the operator that comes next there.

    `firsts` is what a row costs with each first operator that may be.
    """

    rest: Floats
    chosen: Integers
    firsts: Floats
    places: dict[int, int]

    def route(self, begun: HopNumbers) -> HopNumbers:
        """Go on with a route the cheapest way."""
        done, route = bits(begun), list(begun)
        while (place := self.places.get(done)) is not None:
            route.append(int(self.chosen[place]))
            done |= 1 << route[-1]
        return tuple(route)


class WaysOn:
    """The sets of operators of a stream from which routes go on, and the hop that each operator is there.

    >>> hops = (Hop("cheap"), Hop("dear"))
    >>> legality = Legality(("cheap", "dear"), lambda route: tuple(hop for hop in hops if hop not in route))
    >>> ways = WaysOn(legality)
    >>> onward = ways.price([0.5, 0.5], [1.0, 4.0])
    >>> onward.route(()), onward.firsts.tolist()
    ((0, 1), [3.0, 4.5])
    """

    def __init__(self, legality: Legality) -> None:
        layers, following = legality.layers()
        masks = [mask for layer, _ in layers for mask in layer.tolist()]
        numbers: dict[Hop, int] = {}
        # The last place of all is that of sets from which nothing goes on, and of what may not come next.
        self._places = {mask: place for place, mask in enumerate(masks)}
        self._steps = np.array([[self._places.get(s, len(masks)) for s in following[m].tolist()] for m in masks])
        self._hops = np.full(self._steps.shape, -1)
        routes: dict[int, HopNumbers] = {0: ()}
        for mask in reversed(masks):
            for number, hop in legality.find_ready_hops(routes[mask]).items():
                self._hops[self._places[mask], number] = numbers.setdefault(hop, len(numbers))
                routes.setdefault(mask | 1 << number, (*routes[mask], number))
        sizes = np.cumsum([0, *(len(layer) for layer, _ in layers)]).tolist()
        self._layers = [slice(*ends) for ends in pairwise(sizes)]
        self.hops: tuple[Hop, ...] = tuple(numbers)

    def price(self, rates: Sequence[float], prices: Sequence[float]) -> Onward:
        """Price all sets by what each hop makes of a row, and what it takes."""
        rate, price = np.array([*rates, 0.0])[self._hops], np.array([*prices, np.inf])[self._hops]
        rest, chosen = np.zeros(len(self._steps) + 1), np.zeros(len(self._steps), np.int64)
        whole = price
        for layer in self._layers:
            whole = price[layer] + rate[layer] * rest[self._steps[layer]]
            chosen[layer] = whole.argmin(axis=1)
            rest[layer] = whole.min(axis=1)
        firsts = whole[-1]
        return Onward(rest=rest, chosen=chosen, firsts=firsts[np.isfinite(firsts)], places=self._places)
