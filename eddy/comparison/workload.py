"""A workload: a query, its data, and the truth about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import can_classify
from eddy.query import Query
from eddy.sql import Column
from eddy.tuples.arrays import Floats

CHANGED_AT = "changed_at"
"""The fact that names the tuple from which on the data are otherwise for good."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A query and its data, with what the one who made them knows.

    `truth` is what `knows` is told: the attribute that tells the classes apart, its values, and each operator's
    selectivity for each of them; None where nobody knows, or where it changes. `best` is the best single order, what
    `fixed` is told to be a good static plan. `hidden` are columns that only `knows` may tell rows apart by. `costs` is
    what a policy should count: "time", or "unit" where all operators are alike, and their times are noise.
    `prices` is what a call of each operator costs, beside the others, and `course` what each row costs in the order
    that is best at its time, as the data say. `drift_points` are the tuple numbers at which a change begins. `facts`
    are what a figure is drawn over: the number of operators, the skew, ... With `paced`, a time column, a micro-batch
    has the rows of one time, so that a fast stream has more of them; else as many of each stream.
    """

    name: str
    query: Query
    data: Mapping[str, pa.Table]
    truth: Mapping[str, Any] | None = None
    attribute: str | None = None
    best: Sequence[str] | None = None
    hidden: Sequence[str] = ()
    costs: str = "time"
    prices: Mapping[str, float] = field(default_factory=dict)
    course: Floats | None = None
    drift_points: tuple[int, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    paced: str = ""

    @property
    def tuples(self) -> int:
        """Count the rows of the streams."""
        return sum(self.data[stream.origin].num_rows for stream in self.query.streams)

    def cut(self, batch_rows: int) -> Mapping[str, Any]:
        """Give the data as `run_local` takes it: tables, or micro-batches of one time for all streams.

        Of these a stream has so many rows on average over all streams.

        >>> from eddy.query import Stream
        >>> rows = {"r": pa.table({"ts": [0, 1, 2, 3]}), "s": pa.table({"ts": [3]})}
        >>> query = Query(streams=[Stream("r", time="ts"), Stream("s", time="ts")], cross=True)
        >>> cut = Workload(name="two", query=query, data=rows, paced="ts").cut(2)
        >>> [[part.num_rows for part in parts] for parts in cut.values()]
        [[2, 2], [0, 1]]
        """
        if not self.paced:
            return self.data
        times = {source: self.data[source][self.paced].to_numpy() for source in self.query.sources}
        ends = [(of_stream.min(), of_stream.max()) for of_stream in times.values() if len(of_stream)]
        first, last = min(one[0] for one in ends), max(one[1] for one in ends) + 1
        edges = np.linspace(first, last, -(-self.tuples // (batch_rows * len(times))) + 1)
        parts = {}
        for name, of_stream in times.items():
            places = np.searchsorted(of_stream, edges)
            parts[name] = [self.data[name].slice(a, b - a) for a, b in pairwise(places.tolist())]
        return {**self.data, **parts}

    def list_facts(self) -> dict[str, Any]:
        """List facts that a policy's parameters may ask for.

        An experiment writes the name with a "$". `$columns` are all that can tell the rows of streams apart, but for
        hidden ones; `$others` are those of them that no filter reads.
        """
        own = {str(column) for filter in self.query.filters for column in filter.predicate.columns}
        columns = [
            str(Column(stream.name, column.name))
            for stream in self.query.streams
            for column in self.data[stream.origin].schema
            if can_classify(column.type) and str(Column(stream.name, column.name)) not in self.hidden
        ]
        return {
            "$truth": self.truth,
            "$attribute": self.attribute,
            "$best": self.best,
            "$costs": self.costs,
            "$columns": columns,
            "$others": [name for name in columns if name not in own],
        }
