"""By which keys the rows of one input are searched for, for tuples that span certain others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddy.operators.conditions import JoinPair, Residual


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """The access pattern for tuples that span certain inputs.

    `terms` are the comparisons by which it searches, as texts, and `keys` the numbers of the target's keys in them.
    `mask` are those that must be equal, and `then` the one that the `orders` are about. `text` is what reports call it.
    """

    equalities: Sequence[JoinPair]
    orders: Sequence[JoinPair]
    residuals: Sequence[Residual]
    keys: tuple[int, ...]
    mask: int
    then: int | None
    terms: tuple[str, ...]
    reads: frozenset[str]
    text: str

    @property
    def faulty(self) -> bool:
        """Some row has no key to compute: no index finds its matches."""
        return any(side.key.faulty for one in self.searched for side in one.sides.values())

    @property
    def searched(self) -> Sequence[JoinPair]:
        """The comparisons by which rows are found; empty for a scan."""
        return self.equalities or self.orders


def describe(one: JoinPair, target: str) -> str:
    """Write a comparison as a text, from the side of an input."""
    own, other = one.sides[target], one.other(target)
    return f"{own.text} {one.ops[target]} {other.input}.{other.text}"


def keep_one_key(orders: Sequence[JoinPair], target: str) -> list[JoinPair]:
    """Keep the orders that one index can answer.

    Those are the ones on the key that most of them are about.
    """
    keys = [order.sides[target].key for order in orders]
    return [order for order, key in zip(orders, keys, strict=True) if key == max(keys, key=keys.count)]
