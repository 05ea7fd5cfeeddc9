"""compare: policies side by side on a query and its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.comparison.command import command
from eddy.comparison.compared import compared
from eddy.comparison.comparison import Comparison
from eddy.comparison.contender import BASELINE, Contender
from eddy.comparison.contender import label as label_of
from eddy.comparison.experiment import Experiment
from eddy.comparison.given import Given
from eddy.comparison.runner import chosen
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, quoted, unknown
from eddy.local import BATCH_ROWS, Data, whole
from eddy.query import Query
from eddy.window import Window

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice

    Policies = Sequence[PolicyChoice] | Mapping[str, PolicyChoice]

REPEATS = 3
"""Of each policy: the fewest of which an interval says something."""


def compare(  # noqa: PLR0913  what a user may say
    query: Query,
    data: Mapping[str, Data],
    policies: Policies,
    *,
    repeats: int = REPEATS,
    seeds: int | Sequence[int] = 1,
    runner: str = "local",
    baseline: str | None = None,
    batch_rows: int | Sequence[int] = BATCH_ROWS,
    windows: Sequence[Window] = (),
    drift_points: Sequence[int] = (),
    cells: int | None = None,
    resume: str | Path | None = None,
    quiet: bool = False,
) -> Comparison:
    """Run policies on the same data, taking turns, and say which to choose and what it saves.

    The baseline, the first policy unless named, runs twice in every turn, so that noise can be seen. Plots mark
    `drift_points`, numbers of tuples at which the data changes. `runner="spark"` takes the session that there is.
    `resume`, a file, keeps runs that are done for a comparison that is interrupted. docs/comparing.md has more.

    >>> import pyarrow as pa
    >>> from eddy import Filter, Query, Stream
    >>> query = Query(streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 1")])
    >>> found = compare(query, {"a": pa.table({"ts": [1, 2], "v": [1, 2]})}, ["fixed", "random"], quiet=True)
    >>> found.rows.num_rows
    9
    """
    experiment = Experiment(
        name=_named(query),
        points=[Given(given=_workload(query, data, drift_points))],
        contenders=_contenders(policies, baseline),
        seeds=_seeds(seeds),
        batch_rows=_counts("batch_rows", batch_rows),
        windows=list(windows),
        repeats=_counts("repeats", repeats)[0],
    )
    place, again = chosen(runner, cells), command(experiment, runner=runner, cells=cells, drift_points=drift_points)
    return compared(experiment, place, command=again, resume=resume, quiet=quiet)


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    """So many, or these."""
    if isinstance(seeds, Integral):
        return list(range(_counts("seeds", seeds)[0]))
    return _counts("seeds", seeds, 0)


def _named(query: object) -> str:
    if not isinstance(query, Query):
        raise QueryError(f"compare: expected a Query(...), got {query!r}")
    return query.name


def _workload(query: Query, data: Mapping[str, Data], drift_points: Sequence[int]) -> Workload:
    """The data as whole tables, since every policy runs over it."""
    if not isinstance(data, Mapping):
        raise QueryError(f'compare: expected data as {{"stream": table, ...}}, got {type(data).__name__}')
    for name in query.inputs:
        if name not in data:
            raise QueryError(f'compare: expected data for "{name}", got only {quoted(data)}')
    tables = {name: whole(name, value) for name, value in data.items()}
    points = tuple(_counts("drift_points", drift_points, 0)) if drift_points else ()
    return Workload(name=query.name, query=query, data=tables, drift_points=points)


def _contenders(policies: Policies, baseline: str | None) -> list[Contender]:
    """The policies; the first is the baseline, unless another one is named."""
    if isinstance(policies, Mapping):
        named = {str(label): policy for label, policy in policies.items()}
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        pairs = [(label_of(policy), policy) for policy in policies]
        named = dict(pairs)
        if len(named) < len(pairs):
            labels = quoted(label for label, _ in pairs)
            raise QueryError(
                f"compare: two policies are called the same, of {labels}; name them, as "
                '{"one": policy, "two": policy}'
            )
    else:
        raise QueryError(f"compare: expected policies as a list, or by what they are called, got {policies!r}")
    if not named:
        raise QueryError("compare: expected one policy or more, got none")
    first = next(iter(named)) if baseline is None else baseline
    if first not in named:
        raise unknown("policy", str(first), named, where="compare: baseline")
    return [
        Contender(label=label, role=BASELINE if label == first else "", policy=policy)
        for label, policy in named.items()
    ]


def _counts(name: str, values: Any, least: int = 1) -> list[int]:
    """One or more whole numbers that are large enough."""
    found = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    for value in found:
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise QueryError(f"compare: {name}: expected a whole number of {least} or more, got {value!r}")
    if not found:
        raise QueryError(f"compare: {name}: expected one or more, got none")
    return [int(value) for value in found]
