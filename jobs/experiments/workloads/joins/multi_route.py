"""Multi-route: streams that all join each other, with best orders that change.

Section 9.1 of the AMRI paper: each pair of streams has a key of its own, windows hold 10,000 rows, and every 5,000 rows
of a stream the data change, so that other orders of probes are best. Section 9.5 varies how many orders a stream goes
through. Here the sizes of the keys' domains are dealt anew in each phase, out of dealings that give every stream as
many best orders as it is to have.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import CHANGED_AT, Workload
from eddy.errors import QueryError, check_whole, is_whole
from eddy.jobs.workloads.parameters import call, is_number
from eddy.tuples.arrays import Floats, Integers

ROUTE_ROWS = 160_000
"""Of all streams together: eight phases of four streams."""

NAMES = "abcdef"
WINDOW, PHASE = 10_000, 5_000
CARDINALITY = 1_000

SMALLEST, LARGEST = 1 / 20, 10
"""The domains of keys lie between these times of `cardinality`, each as much larger than the one below it."""

PLANTED = 5
"""One row in five belongs to a match of all streams: with as many keys as pairs, hardly any comes by chance."""

CHANGE = "multi_route: change"

POOL = 1_500
"""Dealings of which some are taken: all those of four streams are 720."""

MOST_TRIED = 1_000
"""Times that dealings are taken one after the other until all streams have as many orders as they are to have."""

Dealing = tuple[int, ...]
"""The size of the domain of each pair's key."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How keys are drawn.

    `paths` are the best orders that each stream goes through, `skew` is 0 where all values are as frequent, and nearer
    to 1 the more frequent small ones are. A planted match has `fan_out` rows of each stream.
    """

    streams: int
    paths: Sequence[int]
    cardinality: int
    skew: float
    fan_out: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of streams, each with a key."""
        return list(itertools.combinations(range(self.streams), 2))

    @property
    def domains(self) -> Dealing:
        """The sizes of domains, from the smallest."""
        sizes = self.cardinality * np.geomspace(SMALLEST, LARGEST, len(self.pairs))
        return tuple(np.maximum(np.round(sizes), 1).astype(np.int64).tolist())

    def deal(self, rng: np.random.Generator, window: int) -> list[Dealing]:
        """Find dealings that give each stream as many best orders as it is to have."""
        pool, orders = list_dealings(self.streams, self.domains, window)
        for _ in range(MOST_TRIED):
            taken = self._grow(rng, orders)
            if all(len(np.unique(orders[taken, s])) == most for s, most in enumerate(self.paths)):
                return [tuple(dealing) for dealing in pool[taken].tolist()]
        raise QueryError(f"multi_route: found no dealings with paths {list(self.paths)}; expected others")

    def _grow(self, rng: np.random.Generator, orders: Integers) -> list[int]:
        """Take dealings as long as one is left that brings a new order, and to no stream one too many."""
        taken = [int(rng.integers(len(orders)))]
        while True:
            known = np.stack([np.isin(orders[:, s], orders[taken, s]) for s in range(self.streams)], axis=1)
            full = [len(np.unique(orders[taken, s])) == most for s, most in enumerate(self.paths)]
            fits = np.flatnonzero((known | ~np.array(full)).all(axis=1) & ~known.all(axis=1))
            if not len(fits):
                return taken
            taken.append(int(rng.choice(fits)))

    def draw(self, rng: np.random.Generator, size: int, count: int) -> Integers:
        """Draw keys out of so many, small ones more often where they are skewed."""
        return (size * rng.random(count) ** (1 / (1 - self.skew))).astype(np.int64)


@functools.lru_cache(maxsize=8)
def list_dealings(streams: int, domains: Dealing, window: int) -> tuple[Integers, Integers]:
    """List dealings, and the best orders that they give the streams."""
    pool = np.array([np.random.default_rng(number).permutation(domains) for number in range(POOL)])
    return pool, best_orders(streams, pool, window)


def best_orders(streams: int, dealings: Integers, window: int) -> Integers:
    """Find the number of the order that is best for each stream's tuples, of all orders of the others.

    It is the one that looks at the fewest candidates.
    """
    share = agreement(streams, dealings)
    best = np.zeros((len(dealings), streams), np.int64)
    for origin in range(streams):
        orders = itertools.permutations([s for s in range(streams) if s != origin])
        looked = [count_candidates(share, (origin, *order), window) for order in orders]
        best[:, origin] = np.argmin(looked, axis=0)
    return best


def agreement(streams: int, dealings: Integers) -> Floats:
    """Say how likely two rows agree in their key, for each dealing and each two streams."""
    share = np.zeros((len(dealings), streams, streams))
    for place, (one, other) in enumerate(itertools.combinations(range(streams), 2)):
        share[:, one, other] = share[:, other, one] = 1 / dealings[:, place]
    return share


def count_candidates(share: Floats, order: Sequence[int], window: int) -> Floats:
    """Count the candidates that a tuple of the first stream meets on average, for each dealing."""
    found, looked = np.ones(len(share)), np.zeros(len(share))
    for place in range(1, len(order)):
        found = found * window * share[:, order[place], list(order[:place])].prod(axis=1)
        looked += found
    return looked


def multi_route(  # noqa: PLR0913  what a config file may say
    *,
    streams: int = 4,
    paths: int | Sequence[int] | str = 6,
    phase: int = PHASE,
    window: int = WINDOW,
    cardinality: int = CARDINALITY,
    skew: float = 0.0,
    fan_out: int = 1,
    selected: int = 0,
    change: Mapping[str, Any] | None = None,
    rows: int = ROUTE_ROWS,
    seed: int = 0,
) -> Workload:
    """Make streams of which each pair is joined by a key of its own.

    In each `phase` of so many rows of a stream the domains are dealt anew, so that a stream goes through as many best
    orders as `paths` says for it, or for all of them. `cardinality` is the middle of the domains' sizes. `change` says
    what is otherwise from the row `at` of each stream on: paths, cardinality, skew, fan_out. `selected` columns more
    of each stream are in the results.

    >>> multi_route(streams=3, paths=2, rows=300).query.inputs
    ('a', 'b', 'c')
    """
    _check(streams, phase=phase, window=window, rows=rows, selected=selected)
    said: dict[str, Any] = {"paths": paths, "cardinality": cardinality, "skew": skew, "fan_out": fan_out}
    before = _recipe(streams, **said)
    each = max(rows // streams, 1)
    at, after = (each, before) if change is None else _read_change(change, streams, said)
    made = Maker(rng := np.random.default_rng([seed, 11]), phase, window)
    keys = made.make(before, after, min(at, each), each)
    points = sorted({*range(phase, each, phase), min(at, each)} - {each})
    return Workload(
        name="multi_route",
        query=_query(streams, window, selected),
        data={s: _add_columns(rng, columns, selected) for s, columns in keys.items()},
        best=[f"probe_{NAMES[s]}" for s in made.find_best(before)],
        drift_points=tuple(point * streams for point in points),
        facts=_tell_facts(before, at if at < each else None),
    )


class Maker:
    """Draws the rows of all streams, phase by phase."""

    def __init__(self, rng: np.random.Generator, phase: int, window: int) -> None:
        self._rng, self._phase, self._window = rng, phase, window
        self._dealt: list[Dealing] = []

    def make(self, before: Recipe, after: Recipe, at: int, rows: int) -> dict[str, dict[str, Integers]]:
        """Draw the keys of all streams' rows, which change at one of them."""
        first, second = self._draw(before, 0, at), self._draw(after, at, rows)
        return {s: {key: np.append(values, second[s][key]) for key, values in first[s].items()} for s in first}

    def _draw(self, recipe: Recipe, start: int, stop: int) -> dict[str, dict[str, Integers]]:
        """Draw the keys of some rows of each stream, the same number of each."""
        names = [NAMES[one] + NAMES[other] for one, other in recipe.pairs]
        data = {
            NAMES[s]: {key: np.zeros(stop - start, np.int64) for key in names if NAMES[s] in key}
            for s in range(recipe.streams)
        }
        dealings = recipe.deal(self._rng, self._window) if stop > start else []
        for number, begin in enumerate(range(start, stop, self._phase)):
            if number and number % len(dealings) == 0:
                dealings = [dealings[place] for place in self._rng.permutation(len(dealings))]
            rows = slice(begin - start, min(begin + self._phase, stop) - start)
            self._fill(recipe, data, rows, dealings[number % len(dealings)])
        return data

    def _fill(self, recipe: Recipe, data: Mapping[str, Mapping[str, Integers]], rows: slice, dealing: Dealing) -> None:
        size = rows.stop - rows.start
        matches = size // PLANTED // recipe.fan_out
        planted = {s: rows.start + self._rng.permutation(size)[: matches * recipe.fan_out] for s in data}
        for (one, other), domain in zip(recipe.pairs, dealing, strict=True):
            key = NAMES[one] + NAMES[other]
            same = np.repeat(recipe.draw(self._rng, domain, matches), recipe.fan_out)
            for s in key:
                data[s][key][rows] = recipe.draw(self._rng, domain, size)
                data[s][key][planted[s]] = same
        self._dealt.append(dealing)

    def find_best(self, recipe: Recipe) -> tuple[int, ...]:
        """Find the order for all streams that looks at the fewest candidates over all phases."""
        share = agreement(recipe.streams, np.array(self._dealt))

        def looked(order: tuple[int, ...]) -> float:
            routes = [(origin, *(s for s in order if s != origin)) for origin in order]
            return float(sum(count_candidates(share, route, self._window).sum() for route in routes))

        return min(itertools.permutations(range(recipe.streams)), key=looked)


def _check(streams: object, **sizes: object) -> None:
    check_whole(streams, "streams", 3, where="multi_route", most=len(NAMES))
    for name, value in sizes.items():
        check_whole(value, name, 0 if name == "selected" else 1, where="multi_route")


def _recipe(streams: int, paths: object, cardinality: object, skew: object, fan_out: object) -> Recipe:
    most = factorial(streams - 1)
    # In a file of experiments a list would be several workloads, so there they are written as "6 6 2 2".
    each: Any = [int(part) for part in paths.split() if part.isdecimal()] if isinstance(paths, str) else paths
    each = [paths] * streams if is_whole(paths, 1, most) else each
    if not isinstance(each, list | tuple) or len(each) != streams or not all(is_whole(p, 1, most) for p in each):
        raise QueryError(
            f"multi_route: paths: expected a whole number from 1 to {most}, or one for each of {streams} streams, "
            f"got {paths!r}"
        )
    if not is_number(skew) or not 0 <= skew < 1:
        raise QueryError(f"multi_route: skew: expected a number of 0 or more and below 1, got {skew!r}")
    return Recipe(
        streams=streams,
        paths=tuple(each),
        cardinality=check_whole(cardinality, "cardinality", where="multi_route"),
        skew=float(skew),
        fan_out=check_whole(fan_out, "fan_out", where="multi_route"),
    )


def _read_change(change: Mapping[str, Any], streams: int, said: Mapping[str, Any]) -> tuple[int, Recipe]:
    """Read from which row on what is otherwise; the rest stays as it was."""

    def read(
        *,
        at: int,
        paths: object = said["paths"],
        cardinality: object = said["cardinality"],
        skew: object = said["skew"],
        fan_out: object = said["fan_out"],
    ) -> tuple[int, Recipe]:
        return check_whole(at, "at", where=CHANGE), _recipe(streams, paths, cardinality, skew, fan_out)

    return call(read, change, where=CHANGE)


def _tell_facts(recipe: Recipe, at: int | None) -> dict[str, Any]:
    """Say what figures are drawn over, and since which tuple all is otherwise."""
    told: dict[str, Any] = {"streams": recipe.streams, "operators": recipe.streams - 1}
    told |= {"cardinality": recipe.cardinality, "skew": recipe.skew}
    return told if at is None else {**told, CHANGED_AT: at * recipe.streams}


def _add_columns(rng: np.random.Generator, keys: Mapping[str, Integers], selected: int) -> pa.Table:
    """Put times and ids before the keys, and what may be selected besides behind them."""
    numbers = np.arange(len(next(iter(keys.values()))))
    more = {f"more{place}": rng.integers(0, 1 << 40, len(numbers)) for place in range(selected)}
    return pa.table({"ts": numbers, "id": numbers, **keys, **more})


def _query(streams: int, window: int, selected: int) -> eddy.Query:
    names = NAMES[:streams]
    return eddy.Query(
        name="multi_route",
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(window), delay=0) for s in names],
        joins=[f"{one}.{one}{other} = {other}.{one}{other}" for one, other in itertools.combinations(names, 2)],
        select=[f"{s}.id AS {s}" for s in names]
        + [f"{s}.more{number} AS {s}{number}" for s in names for number in range(selected)],
    )
