"""Which chains of rows there are, and along which of them a search goes.

Chains of some keys answer every search by these keys and more: the rows that they lead to are held against all keys of
the search anyway. A row that comes joins each chain once, so a search has chains of its own only if they lead past more
rows that do not match than it takes to link those that come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eddy.operators.index import price
from eddy.operators.index.admission import Admission
from eddy.operators.index.pricing import Pricing
from eddy.operators.index.structures.key_map import KeyMap, linked_map

PLAIN_FOR = 4
"""Micro-batches for which a pattern goes without chains once they led past what is too new: streams that are out of
step stay so for a while, and an index for either costs time and room."""


class LinkChoice(NamedTuple):
    """The chains that a search goes along, None for none, as long as the `stamp` is what it was."""

    stamp: tuple[int, ...]
    key_map: KeyMap | None


class Linking:
    """Finds chains by price.

    `maps` are all that lead somewhere, or did until there was no room for them.
    """

    def __init__(self, admission: Admission, pricing: Pricing, *, may_link: bool) -> None:
        self.maps: list[KeyMap] = []
        self._admission = admission
        self._pricing = pricing
        self._may_link = may_link
        # Patterns whose chains led past too many rows, and for how many micro-batches they have none.
        self._plain: dict[int, int] = {}
        self._found: dict[int, LinkChoice] = {}

    def rest(self) -> None:
        """End a micro-batch."""
        self._plain = {pattern: left - 1 for pattern, left in self._plain.items() if left > 1}

    def stop(self) -> None:
        """Link no more, since other maps were chosen."""
        self.maps, self._may_link = [], False

    def serves(self, pattern: int) -> bool:
        """Tell whether a search by some keys may go along chains."""
        return self._may_link and pattern > 0 and pattern not in self._plain

    def keeps(self, key_map: KeyMap, rows: int) -> bool:
        """Tell whether chains of so many rows stay."""
        if not rows and key_map in self.maps:
            self.maps.remove(key_map)
            self._found.clear()
        return rows > 0 and key_map in self.maps and not self._admission.leaves_out(key_map)

    def be_plain(self, pattern: int) -> bool:
        """Serve a pattern without chains, since they lead past rows that are too new; tell whether that is new."""
        if not self._may_link or not pattern:
            return False
        is_new = pattern not in self._plain
        self._plain[pattern] = PLAIN_FOR
        if is_new:
            self._found.clear()
        return is_new

    def reconsider(self, pattern: int) -> None:
        """Choose anew for a search."""
        self._found.pop(pattern, None)

    def find(self, pattern: int, tuples: int, rows: int, price_others: Callable[[], float]) -> KeyMap | None:
        """Find the chains that so many tuples go along; None if there are none, or others take less."""
        if not self.serves(pattern):
            return None
        stamp = (rows.bit_length(), self._admission.decisions, self._pricing.age, len(self.maps))
        found = self._found.get(pattern)
        if found is None or found.stamp != stamp:
            key_map = self._choose(pattern, tuples, rows, price_others)
            if key_map is not None and key_map not in self.maps:
                self.maps.append(key_map)
            stamp = (*stamp[:-1], len(self.maps))
            found = self._found[pattern] = LinkChoice(stamp, key_map)
        return found.key_map

    def _choose(self, pattern: int, tuples: int, rows: int, price_others: Callable[[], float]) -> KeyMap | None:
        own = linked_map(pattern)
        prices = {
            m: self._pricing.price_part(m, rows, pattern)
            for m in self.maps
            if m != own and m.list_fields(pattern) and not self._admission.leaves_out(m)
        }
        best = min(prices, key=prices.__getitem__, default=None)
        if not self._admission.leaves_out(own):
            saved = 0.0 if best is None else prices[best] - self._pricing.price_part(own, rows, pattern)
            is_worth = best is None or self._admission.pays((pattern, None), tuples, saved, price.LINKED_ROW)
            return own if is_worth else best
        return best if best is not None and prices[best] <= price_others() else None
