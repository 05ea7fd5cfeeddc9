"""By which keys the rows of one input are searched for, for tuples that span certain others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from eddy.operators.conditions import Conditions, JoinPair, Residual
from eddy.operators.keys import Key


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """The access pattern for tuples that span certain inputs.

    `terms` are the comparisons by which it searches, as texts, and `keys` the numbers of the target's keys in them.
    `mask` are those that must be equal, and `then` the one that the `orders` are about. Tuples with the same rows of
    the inputs that it `settles` by find the same, but for what their times say. `text` is what reports call it.
    """

    equalities: Sequence[JoinPair]
    orders: Sequence[JoinPair]
    residuals: Sequence[Residual]
    keys: tuple[int, ...]
    mask: int
    then: int | None
    terms: tuple[str, ...]
    reads: frozenset[str]
    settles: frozenset[str]
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


def make_pattern(
    target: str,
    spans: frozenset[str],
    conditions: Conditions,
    number: Callable[[Key], int],
    timed: Collection[str],
) -> Pattern:
    """Find the access pattern to an input, for tuples that span some others; `timed` are those with event times."""
    joined = spans | {target}
    equalities = [e for e in conditions.equalities if target in e.sides and joined.issuperset(e.sides)]
    orders = [o for o in conditions.orders if target in o.sides and joined.issuperset(o.sides)]
    # Conditions that this probe completes: all their inputs are there with it, and some were not before.
    residuals = [r for r in conditions.residuals if target in r.inputs and joined >= r.inputs]
    # Equalities find far fewer rows than an order does. The orders are residuals too, so none is forgotten.
    orders = keep_one_key(orders, target)
    searched: Sequence[JoinPair] = equalities or orders
    texts = [e.sides[target].text for e in equalities]
    texts += [] if equalities else [f"{o.sides[target].text} {o.ops[target]}" for o in orders]
    keys = [number(one.sides[target].key) for one in searched]
    asked = [*(set(e.sides) for e in (*searched, *orders)), *(r.inputs for r in residuals)]
    return Pattern(
        equalities=equalities,
        orders=orders,
        then=number(orders[0].sides[target].key) if orders else None,
        residuals=residuals,
        keys=tuple(keys),
        mask=sum({1 << key for key in keys}) if equalities else 0,
        terms=tuple(describe(one, target) for one in searched),
        reads=spans.intersection({*timed}.union(*asked)),
        settles=spans.intersection(set[str]().union(*asked)),
        text=", ".join(dict.fromkeys(texts)) or " ".join(("scan", *(r.text for r in residuals))),
    )
