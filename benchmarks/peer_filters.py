"""Filters beside DuckDB, Polars, and numpy written by hand.

Cheap filters compare an integer with a number, as SQL or the tool's own expressions: nothing is to be gained by order,
and the tools for tables do it with all cores and without Python. There the baseline is ours with the policy that does
not learn. Costly filters are Python functions that work for 10 microseconds a row, and each class of rows fails another
one: the skew of `spark_filters` with A = 5 %. All but ours are given the best static order; DuckDB may change it. The
best order of each class, by hand, is the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import eddy
from benchmarks import plots, polars_filters
from benchmarks.growth import COUNTED, Case, Growth, growth
from benchmarks.measure import Line, make_clocks
from benchmarks.spark_filters import best_per_class, best_static, told_auto
from eddy import wiring
from eddy.jobs.experiments.workloads.burn import MaskFunction
from eddy.jobs.experiments.workloads.selectivities import skew
from eddy.jobs.experiments.workloads.spread import CLASSIFIER
from eddy.jobs.experiments.workloads.stream_star import stream_star
from eddy.tuples.arrays import Floats
from eddy.wiring import PolicyChoice

OURS, PLAIN, CONTROL = "eddy, content", "eddy, fixed", "eddy again (control)"
AUTO, TOLD = "eddy, auto", "eddy, auto told the column"
DUCK, POLARS, NUMPY = "duckdb", "polars", "numpy, by hand"
STATIC, BOUND = "numpy, best static order", "numpy, best order per class"
SEED = 1

VALUES, PASSING = 1_000, 700
"""A cheap filter compares a number below the first with the second: seven rows in ten pass."""

CHEAP_ROWS, CHEAP_SIZES = 10_000, (1_000, 10_000, 100_000)
OPERATORS, OPERATOR_SIZES = 6, (2, 4, 8, 12)

SHARE, COST_US = 0.05, 10
COSTLY_ROWS, COSTLY_SIZES = 1_000, (500, 1_000, 2_000, 4_000)
LEARNING = 20
"""Micro-batches that do not count: the policy has its samples by then, and the tools have loaded their code."""

Ints = np.ndarray[Any, np.dtype[np.int64]]
Contender = Callable[[pa.RecordBatch], Ints]
Judges = Sequence[tuple[str, MaskFunction]]


def cheap_rows(sizes: Sequence[int] = CHEAP_SIZES, folder: Path = plots.FIGURES) -> Iterator[Line | Growth]:
    """Comparisons, by the rows of a micro-batch."""
    yield f"{OPERATORS} comparisons of an integer, seven rows in ten pass each"
    yield from growth(
        "rows of a micro-batch",
        sizes,
        lambda rows: cheap(OPERATORS, rows),
        rows=int,
        folder=folder,
        file="cheap_rows.svg",
    )


def cheap_operators(sizes: Sequence[int] = OPERATOR_SIZES, folder: Path = plots.FIGURES) -> Iterator[Line | Growth]:
    """Comparisons, by how many there are."""
    yield f"comparisons of an integer, seven rows in ten pass each, {CHEAP_ROWS:,} rows"
    case, rows = (lambda number: cheap(number, CHEAP_ROWS)), (lambda _: CHEAP_ROWS)
    yield from growth("cheap filters", sizes, case, rows=rows, folder=folder, file="cheap_operators.svg")


def costly_rows(sizes: Sequence[int] = COSTLY_SIZES, folder: Path = plots.FIGURES) -> Iterator[Line | Growth]:
    """Python functions, by the rows of a micro-batch."""
    yield f"{OPERATORS} filters of {COST_US} microseconds, {OPERATORS} classes, A = {SHARE:.0%}"
    case = lambda rows: costly(OPERATORS, rows)  # noqa: E731
    yield from growth("rows of a micro-batch", sizes, case, rows=int, folder=folder, file="costly_rows.svg")


def costly_operators(
    sizes: Sequence[int] = OPERATOR_SIZES, folder: Path = plots.FIGURES, rows: int = COSTLY_ROWS
) -> Iterator[Line | Growth]:
    """Python functions, by how many there are; there are as many classes."""
    yield f"filters of {COST_US} microseconds, as many classes, A = {SHARE:.0%}, {rows:,} rows"
    case = lambda number: costly(number, rows)  # noqa: E731
    yield from growth("costly filters", sizes, case, rows=lambda _: rows, folder=folder, file="costly_operators.svg")


def cheap(operators: int, rows: int, counted: int = COUNTED) -> Case:
    """Comparisons of as many columns."""
    columns = [f"v{number}" for number in range(operators)]
    rng, total = np.random.default_rng(SEED), rows * (LEARNING + counted)
    values = {column: rng.integers(0, VALUES, total) for column in columns}
    table = pa.table({"ts": np.arange(total), "id": np.arange(total), **values})
    texts = [f"{column} < {PASSING}" for column in columns]
    query = eddy.Query(
        streams=[_stream()],
        filters=[eddy.Filter(f"on_{c}", on="s", where=f"{c} < {PASSING}") for c in columns],
        select=["s.id"],
    )

    def by_hand(batch: pa.RecordBatch) -> Ints:
        # To compare everything is quicker than to gather what is left: a comparison is one instruction for many rows.
        passed = np.logical_and.reduce([batch.column(c).to_numpy() < PASSING for c in columns])
        return batch.column("id").to_numpy()[passed]

    contenders: dict[str, Contender] = {
        PLAIN: ours(query, table.schema, "fixed"),
        CONTROL: ours(query, table.schema, "fixed"),
        OURS: ours(query, table.schema, "content"),
        AUTO: ours(query, table.schema, "auto"),
        NUMPY: by_hand,
        DUCK: Duck(" and ".join(texts)),
        POLARS: polars_filters.comparisons(dict.fromkeys(columns, PASSING)),
    }
    return _case(contenders, table, rows)


def costly(operators: int, rows: int, cost_us: float = COST_US, counted: int = COUNTED) -> Case:
    """As many Python functions and classes of rows."""
    values = skew(operators, 0, A=SHARE).values
    made = stream_star(operators, values.tolist(), rows=rows * (LEARNING + counted), seed=SEED, cost_us=cost_us)
    judges = [(str(f.columns[0]), f.function) for f in made.query.filters if f.columns and f.function]
    static = [judges[which] for which in best_static(values)]
    table = made.data["s"]
    contenders: dict[str, Contender] = {
        OURS: ours(made.query, table.schema, "content"),
        CONTROL: ours(made.query, table.schema, "content"),
        AUTO: ours(made.query, table.schema, "auto"),
        TOLD: ours(made.query, table.schema, told_auto(made.attribute)),
        STATIC: in_order(static),
        BOUND: in_order_of_class(judges, values),
        DUCK: Duck(" and ".join(f"judge_{column}({column})" for column, _ in static), static),
        POLARS: polars_filters.functions(static),
    }
    return _case(contenders, table, rows)


def ours(query: eddy.Query, schema: pa.Schema, policy: PolicyChoice) -> Contender:
    """The engine with a policy as a user gets it."""
    engine = wiring.engine(query, {"s": schema}, policy, tables={}, seed=SEED, **make_clocks())

    def run(batch: pa.RecordBatch) -> Ints:
        return _ids(pa.Table.from_batches(engine.run({"s": batch}), schema=engine.schema).column("id"))

    return run


class Duck:
    """DuckDB, asked the same text once per micro-batch.

    Python functions get and give Arrow.
    """

    def __init__(self, condition: str, judges: Judges = ()) -> None:
        self._connection = duckdb.connect()
        self._text = f"select id from arrived where {condition}"
        # Of functions over Arrow, DuckDB's own types know only those of the very Arrow that it was made with.
        make: Any = self._connection.create_function
        for column, judge in judges:
            make(f"judge_{column}", _of_arrow(judge), ["BIGINT"], "BOOLEAN", type="arrow")

    def __call__(self, batch: pa.RecordBatch) -> Ints:
        """The numbers of the rows that pass all filters."""
        self._connection.register("arrived", batch)
        return _ids(self._connection.sql(self._text).to_arrow_table().column("id"))


def _of_arrow(judge: MaskFunction) -> Callable[[Any], Any]:
    def passes(keys: Any) -> Any:
        return pa.array(judge(keys.to_numpy()))

    return passes


def in_order(judges: Judges) -> Contender:
    """By hand: each filter sees what those before it have passed."""

    def run(batch: pa.RecordBatch) -> Ints:
        return batch.column("id").to_numpy()[_passing(batch, judges, np.arange(batch.num_rows))]

    return run


def in_order_of_class(judges: Judges, values: Floats) -> Contender:
    """By hand, with the best order of each class, told in advance."""
    orders = [[judges[which] for which in order] for order in best_per_class(values)]

    def run(batch: pa.RecordBatch) -> Ints:
        classes = batch.column(CLASSIFIER).to_numpy()
        parts = [_passing(batch, order, np.flatnonzero(classes == number)) for number, order in enumerate(orders)]
        return batch.column("id").to_numpy()[np.concatenate(parts)]

    return run


def _passing(batch: pa.RecordBatch, judges: Judges, rows: Ints) -> Ints:
    for column, judge in judges:
        rows = rows[judge(batch.column(column).to_numpy()[rows])]
    return rows


def agree(answers: Mapping[str, Ints]) -> None:
    """All contenders must pass the same rows."""
    found = {name: np.sort(rows) for name, rows in answers.items()}
    first = next(iter(found.values()))
    different = [name for name, rows in found.items() if not np.array_equal(rows, first)]
    if different:
        raise AssertionError(f"the contenders do not agree: {different}")


def _case(contenders: Mapping[str, Contender], table: pa.Table, rows: int) -> Case:
    batches = table.combine_chunks().to_batches(max_chunksize=rows)
    return Case(contenders=contenders, batches=batches, warm=LEARNING, agree=agree)


def _stream() -> eddy.Stream:
    """Rows come in order and meet nobody: without a delay they would be kept."""
    return eddy.Stream("s", time="ts", window=eddy.Range(1), delay=0)


def _ids(column: Any) -> Ints:
    found: Ints = column.to_numpy()
    return found


BENCHMARKS = (cheap_rows, cheap_operators, costly_rows, costly_operators)
