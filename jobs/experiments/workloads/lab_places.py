"""Lab by place: the sensors in groups, and a join of what they report.

Section 6.1 of the Query Mesh paper divides the readings into several streams, one for each group of sensors in close
proximity, and joins them; a query like this finds hot spots.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_whole
from eddy.jobs.experiments.workloads.lab import (
    A_FEW_EPOCHS,
    APART,
    EPOCH_SECONDS,
    SENSORS,
    divide,
    generate_readings,
    lab_trace,
)

PLACES_ROWS = 60_000
"""Of all places together: the better part of a day."""

MOST_PLACES = 9
"""With more there would be a few sensors in each only."""

STEPS_A_DEGREE = 2
"""Readings meet when they are equal to half a degree."""


def lab_places(*, places: int = 6, rows: int = PLACES_ROWS, seed: int = 0, trace: str | None = None) -> Workload:
    """Join readings of several places that were equally warm.

    They were taken within an epoch, which is 31 seconds. A place has as many sensors as any other, in the order of
    their numbers, by which they stand side by side. The readings are those of `lab`.

    >>> lab_places(places=2, rows=200).query.inputs
    ('place1', 'place2')
    """
    check_whole(places, "places", 2, where="lab_places", most=MOST_PLACES)
    check_whole(rows, "rows", where="lab_places")
    if SENSORS % places:
        raise QueryError(f"lab_places: expected places to divide {SENSORS} sensors, got {places}")
    drawn = max(rows, A_FEW_EPOCHS)
    table = generate_readings(drawn, seed) if trace is None else lab_trace(trace).slice(0, drawn)
    degree = pc.floor(pc.multiply(table.column("temperature"), STEPS_A_DEGREE)).cast(pa.int64())
    table = table.append_column("id", pa.array(np.arange(table.num_rows))).append_column("degree", degree)
    number = (table.column("sensorid").to_numpy() - 1) * places // SENSORS
    names = [f"place{one + 1}" for one in range(places)]
    window = eddy.Range(f"{EPOCH_SECONDS} seconds")
    query = eddy.Query(
        name="lab_places",
        streams=[eddy.Stream(name, time="at", window=window, delay=APART) for name in names],
        joins=[f"{one}.degree = {other}.degree" for one, other in itertools.combinations(names, 2)],
        select=[f"{name}.id AS {name}_id" for name in names],
    )
    data = dict(zip(names, divide(table, number, rows), strict=True))
    return Workload(name="lab_places", query=query, data=data, facts={"streams": places, "operators": places - 1})
