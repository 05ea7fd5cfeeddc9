"""What a policy may plan: legs that take every row once, each along a route that is legal.

Everything that a plan may be refused for is asked here, before any tuple moves; the table in `lineage` says which step
is legal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Classes, Leg
from eddy.errors import EngineError
from eddy.tuples import Hop, Lineage
from eddy.tuples.arrays import RowIds
from eddy.tuples.lineage import Machine

NO_ROWS: RowIds = np.empty(0, np.int64)


def check_plan(legs: object, lineage: Lineage, rows: int, machine: Machine) -> Sequence[Leg]:
    """Give the legs of a task back, if a policy may plan them: none loses a tuple, doubles it, or leads it astray."""
    if not isinstance(legs, list | tuple) or not all(isinstance(leg, Leg) for leg in legs):
        raise EngineError(f"it must plan a list of Leg(...), and planned {legs!r}")
    for leg in legs:
        _check_leg(leg, rows)
    if len(legs) != 1 or legs[0].rows is not None:
        _check_partition(legs, rows)
    for leg in legs:
        _check_route(leg, lineage, machine)
    return legs


def _check_partition(legs: Sequence[Leg], rows: int) -> None:
    """Check that every row is in exactly one leg."""
    # Where the legs have as many rows as the task, and every row is in one of them, none is in two.
    taken = np.zeros(rows, np.bool_)
    for leg in legs:
        taken[slice(None) if leg.rows is None else leg.rows] = True
    if sum(rows if leg.rows is None else len(leg.rows) for leg in legs) == rows == np.count_nonzero(taken):
        return
    parts = [np.arange(rows) if leg.rows is None else leg.rows.astype(np.int64, copy=False) for leg in legs]
    # How many legs each row is in. `NO_ROWS` gives the array its type if there are no legs at all.
    times = np.bincount(np.concatenate([NO_ROWS, *parts]), minlength=rows)
    lost, doubled = int((times == 0).sum()), int((times > 1).sum())
    raise EngineError(
        f"its legs leave out {lost} and repeat {doubled} of the task's {rows} rows; "
        "every row must be in exactly one leg"
    )


def _check_route(leg: Leg, lineage: Lineage, machine: Machine) -> None:
    """Check that every step is legal after those before it; of an exhaustive leg, by itself or along a path."""
    if leg.exhaustive:
        for place, hop in enumerate(leg.route):
            if not machine.may_act(lineage, hop.operator):
                machine.find_path(lineage, leg.route[:place], hop)
    machine.ready_after(lineage, leg.route)
    if leg.aside:
        _check_aside(leg, lineage, machine)


def _check_aside(leg: Leg, lineage: Lineage, machine: Machine) -> None:
    """Check that dropped tuples were ready for the hops at their place, and that none of these has seen them."""
    if leg.exhaustive:
        raise EngineError("an exhaustive leg has nothing aside: its hops see every tuple")
    if not isinstance(leg.aside, tuple) or not all(map(_is_hops, leg.aside)):
        raise EngineError(f"a leg's aside must be a tuple of tuples of hops, and is {leg.aside!r}")
    if len(leg.aside) != len(leg.route):
        raise EngineError(
            f"a leg's aside has {len(leg.aside)} places, and its route {len(leg.route)}; "
            "each place needs a tuple of hops, () for none"
        )
    for hop, hops in zip(leg.route, leg.aside, strict=True):
        ready = machine.ready(lineage)
        for place, other in enumerate(hops):
            if other == hop or other in hops[:place]:
                raise EngineError(f'operator "{hop.operator}": {other!r} would see the tuples dropped there twice')
            if other not in ready:
                raise EngineError(f'operator "{hop.operator}": {other!r} is not ready for the tuples dropped there')
        lineage = machine.after(lineage, hop.operator)


def _check_leg(leg: Leg, rows: int) -> None:
    if not leg.route or not _is_hops(leg.route):
        raise EngineError(f"a leg's route must be a tuple of hops, at least one, and is {leg.route!r}")
    if leg.rows is not None:
        _check_rows(leg, rows)
    if leg.classes is not None:
        _check_classes(leg.classes, rows if leg.rows is None else len(leg.rows))


def _is_hops(hops: object) -> bool:
    return isinstance(hops, tuple) and all(isinstance(hop, Hop) for hop in hops)


def _check_rows(leg: Leg, rows: int) -> None:
    if not isinstance(leg.rows, np.ndarray) or leg.rows.dtype.kind not in "iu" or leg.rows.ndim != 1:
        got = getattr(leg.rows, "dtype", type(leg.rows).__name__)
        raise EngineError(
            f"a leg's rows must be positions, an array of integers, and are {got}; for a mask use np.flatnonzero(mask)"
        )
    if len(leg.rows) and not (leg.rows.min() >= 0 and leg.rows.max() < rows):
        raise EngineError(f"a leg has rows outside the task's {rows}")


def _check_classes(classes: object, rows: int) -> None:
    if not isinstance(classes, Classes):
        raise EngineError(f"a leg's classes must be Classes(...), and are {classes!r}")
    told, among = sum(size for _, size in classes.sizes), len(classes.attributes)
    if told != rows or any(len(buckets) != among for buckets, _ in classes.sizes):
        raise EngineError(
            f"a leg's classes must have its {rows} rows in all and a bucket for each of {among} attributes, "
            f"and are {classes!r}"
        )
