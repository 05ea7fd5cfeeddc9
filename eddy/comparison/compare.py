"""`compare`: policies side by side on a query and its data.

The arguments become an experiment, `run_comparison` runs it, and the rows become a `Comparison`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.comparison.contender import BASELINE, Contender, index_text, make_contender, name_of
from eddy.comparison.contender import label as label_of
from eddy.comparison.experiment import Experiment, Skipped, find_inapplicable
from eddy.comparison.journal import Journal
from eddy.comparison.result import Comparison
from eddy.comparison.run_key import data_text, machine, query_text
from eddy.comparison.runner import Runner, choose_runner
from eddy.comparison.turns import Bar, Turns
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_whole, quote, unknown_name
from eddy.local import BATCH_ROWS, Data, make_table
from eddy.query import Query, Window
from eddy.query.inputs import arrange_sources
from eddy.redaction import HIDDEN, is_secret

if TYPE_CHECKING:
    from eddy.wiring import PolicyChoice

    Policies = Sequence[PolicyChoice] | Mapping[str, PolicyChoice]


REPEATS = 3
"""Runs of each policy: the fewest of which an interval says something."""


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
    """Run policies on the same data, and say which to choose.

    They take turns. The baseline, the first policy unless named, runs twice in every turn, so that noise can be seen.
    Plots mark `drift_points`, numbers of tuples at which the data changes. `runner="spark"` takes the session that
    there is. `resume`, a file, keeps runs for a comparison that is interrupted. docs/comparing.md has more.

    >>> import pyarrow as pa
    >>> from eddy import Filter, Query, Stream
    >>> query = Query(streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 1")])
    >>> found = compare(query, {"a": pa.table({"ts": [1, 2], "v": [1, 2]})}, ["fixed", "random"], quiet=True)
    >>> found.rows.num_rows
    9
    """
    experiment = Experiment(
        name=_read_name(query),
        points=[Given(given=_workload(query, data, drift_points))],
        contenders=_contenders(policies, baseline),
        seeds=_seeds(seeds),
        batch_rows=_counts("batch_rows", batch_rows),
        windows=list(windows),
        repeats=_counts("repeats", repeats)[0],
    )
    again = command(experiment, runner=runner, cells=cells, drift_points=drift_points)
    return run_comparison(experiment, choose_runner(runner, cells), command=again, resume=resume, quiet=quiet)


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    """Give the seeds 0 to n - 1, or the given ones."""
    if isinstance(seeds, Integral):
        return list(range(_counts("seeds", seeds)[0]))
    return _counts("seeds", seeds, 0)


def _read_name(query: object) -> str:
    """Check that a query is one, and give its name."""
    if not isinstance(query, Query):
        raise QueryError(f"compare: expected a Query(...), got {query!r}")
    return query.name


def _workload(query: Query, data: Mapping[str, Data], drift_points: Sequence[int]) -> Workload:
    """The data as whole tables, since every policy runs over it."""
    if not isinstance(data, Mapping):
        raise QueryError(f'compare: expected data as {{"stream": table, ...}}, got {type(data).__name__}')
    data = arrange_sources(query.streams, data)
    for name in (*query.sources, *(table.name for table in query.tables)):
        if name not in data:
            raise QueryError(f'compare: expected data for "{name}", got only {quote(data)}')
    tables = {name: make_table(name, value) for name, value in data.items()}
    points = tuple(_counts("drift_points", drift_points, 0)) if drift_points else ()
    return Workload(name=query.name, query=query, data=tables, drift_points=points)


def _contenders(policies: Policies, baseline: str | None) -> list[Contender]:
    """Make the contenders, one of them the baseline.

    It is the first, unless another one is named.
    """
    if isinstance(policies, Mapping):
        named = {str(label): policy for label, policy in policies.items()}
    elif isinstance(policies, Sequence) and not isinstance(policies, str):
        pairs = [(label_of(policy), policy) for policy in policies]
        named = dict(pairs)
        if len(named) < len(pairs):
            labels = quote(label for label, _ in pairs)
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
        raise unknown_name("policy", str(first), named, where="compare: baseline")
    return [
        make_contender(policy, label=label, role=BASELINE if label == first else "") for label, policy in named.items()
    ]


def _counts(name: str, values: Any, least: int = 1) -> list[int]:
    """Check one or more whole numbers that are large enough."""
    found = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    if not found:
        raise QueryError(f"compare: {name}: expected one or more, got none")
    return [check_whole(value, name, least, where="compare") for value in found]


def run_comparison(
    experiment: Experiment,
    place: Runner,
    *,
    command: str,
    resume: str | Path | None = None,
    quiet: bool = False,
) -> Comparison:
    """Run what has not been run before.

    `command` is how to do it again.
    """
    journal = Journal(resume)
    skipped = list(find_inapplicable(experiment))
    bar = Bar(_runs(experiment, skipped), quiet=quiet)
    where = machine()
    turns = Turns(experiment, place, journal, bar)
    try:
        turns.run(skipped, where)
    finally:
        bar.close()
    return Comparison(
        name=experiment.name,
        runs=turns.rows,
        traced=turns.traced,
        patterns=turns.patterns,
        skipped=list(map(str, skipped)),
        settings={**_settings(experiment, place), "machine": where},
        command=command,
    )


def _runs(experiment: Experiment, skipped: list[Skipped]) -> int:
    """Count the runs that there are to be."""
    policies = 0
    for setup in experiment.setups:
        out = [skip.contender for skip in skipped if skip.point is setup.point]
        policies += len(experiment.add_control(without=out))
    return policies * len(experiment.seeds) * experiment.repeats


def _settings(experiment: Experiment, place: Runner) -> dict[str, Any]:
    """All settings of the comparison, for its report."""
    return {
        "experiment": experiment.name,
        "runner": place.name,
        **place.describe(),
        "repeats": experiment.repeats,
        "seeds": list(experiment.seeds),
        "rows of a micro-batch": list(experiment.batch_rows),
        "windows": [str(window) for window in experiment.windows] or "those of the query",
        "first rows only": experiment.rows,
        "policies": {contender.label: _policy(contender) for contender in experiment.contenders},
        "workloads": {point.label: dict(point.describe()) for point in experiment.points},
    }


def _policy(contender: Contender) -> dict[str, Any]:
    """Give a policy's parameters one by one.

    So those that are secret can be told.
    """
    own: dict[str, Any] = {} if contender.batch_rows is None else {"rows of a micro-batch": contender.batch_rows}
    own |= {} if contender.index is None else {"index": index_text(contender.index)}
    own |= {} if contender.cache_memory is None else {"cache_memory": contender.cache_memory}
    given = contender.policy
    told = given if isinstance(given, Mapping) else {"name": given if isinstance(given, str) else name_of(given)}
    return {**told, **own, "role": contender.role or "none"}


@dataclass(frozen=True, kw_only=True)
class Given:
    """A query and its data, which are the same for every seed."""

    given: Workload

    @property
    def label(self) -> str:
        """That of the query."""
        return self.given.name

    @property
    def varied(self) -> Mapping[str, Any]:
        """Nothing: there is one only."""
        return {}

    def describe(self) -> Mapping[str, Any]:
        """Describe the query, the data, and where it changes."""
        return self._described

    def workload(self, seed: int, rows: int | None = None) -> Workload:
        """Give the data, or the first rows of each stream."""
        if rows is None:
            return self.given
        sources = self.given.query.sources
        data = {name: t.slice(0, rows) if name in sources else t for name, t in self.given.data.items()}
        return replace(self.given, data=data)

    @cached_property
    def _described(self) -> dict[str, Any]:
        told = {"query": query_text(self.given.query), "data": data_text(self.given)}
        return told | {"drift points": list(self.given.drift_points)}


def command(experiment: Experiment, *, runner: str, cells: int | None = None, drift_points: Sequence[int] = ()) -> str:
    """Write the call of `eddy.compare`, without secrets.

    It has only arguments that differ from the defaults.

    >>> command(
    ...     Experiment(
    ...         name="q",
    ...         points=[],
    ...         contenders=[
    ...             Contender(label="fixed", role="baseline", policy="fixed"),
    ...             Contender(label="mine", policy={"name": "content", "P": 0.1}),
    ...         ],
    ...         seeds=[0],
    ...         batch_rows=[500],
    ...         repeats=3,
    ...     ),
    ...     runner="local",
    ... )
    'eddy.compare(query, data, {"fixed": "fixed", "mine": {"name": "content", "P": 0.1}}, repeats=3, batch_rows=500)'
    """
    first = experiment.contenders[0]
    said: dict[str, Any] = {"repeats": experiment.repeats}
    said |= {} if list(experiment.seeds) == [0] else {"seeds": list(experiment.seeds)}
    said |= {} if experiment.baseline is first else {"baseline": experiment.baseline.label}
    said |= {"batch_rows": experiment.batch_rows[0] if len(experiment.batch_rows) == 1 else list(experiment.batch_rows)}
    told = [f"{name}={_write_value(value)}" for name, value in said.items()]
    told += [f"windows=[{', '.join(f'eddy.{window}' for window in experiment.windows)}]"] if experiment.windows else []
    told += [f"drift_points={list(drift_points)}"] if drift_points else []
    told += [] if runner == "local" else [f'runner="{runner}"']
    told += [] if cells is None else [f"cells={cells}"]
    return f"eddy.compare(query, data, {_policies(experiment.contenders)}, {', '.join(told)})"


def _policies(contenders: Sequence[Contender]) -> str:
    """A list where policies have no names of their own."""
    choices = {contender.label: contender.written for contender in contenders}
    if all(label == label_of(choice) for label, choice in choices.items()):
        return f"[{', '.join(map(_policy_text, choices.values()))}]"
    return f"{{{', '.join(f'{_write_value(label)}: {_policy_text(choice)}' for label, choice in choices.items())}}}"


def _policy_text(choice: PolicyChoice) -> str:
    return _write_value(choice) if isinstance(choice, str | Mapping) else name_of(choice)


def _write_value(value: object) -> str:
    """Write a value as a program would have it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        inner = ((name, HIDDEN if is_secret((str(name),)) else _write_value(one)) for name, one in value.items())
        return f"{{{', '.join(f'{_write_value(name)}: {text}' for name, text in inner)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    return repr(value)
