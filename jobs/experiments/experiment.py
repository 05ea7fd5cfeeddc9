"""Reads an experiment: workloads, policies, seeds."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.comparison.contender import BASELINE, BOUND, Contender, make_contender
from eddy.comparison.contender import label as label_of
from eddy.comparison.experiment import Experiment
from eddy.comparison.workload import Workload
from eddy.errors import EddyError, QueryError, check_choice, check_whole, quote, unknown_name
from eddy.jobs.workloads.parameters import call
from eddy.jobs.workloads.registry import WORKLOADS, build
from eddy.query import Range, Rows, Window

BATCH_ROWS = 1_000

ROLES = (BASELINE, BOUND)
"""The roles that a file may give to a policy."""


@dataclass(frozen=True, kw_only=True)
class GridPoint:
    """One workload of the grid, for any seed.

    It has a kind and parameters.
    """

    kind: str
    name: str
    parameters: Mapping[str, Any]
    varied: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name, and what tells it from others of the grid."""
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.varied.items())])

    def describe(self) -> dict[str, Any]:
        """Give the settings that its runs depend on.

        A workload is determined by its kind, parameters and seed.
        """
        return {"kind": self.kind, "parameters": self.parameters}

    def workload(self, seed: int, rows: int | None = None) -> Workload:
        """The workload with a seed, or no more than some rows of it."""
        shorter = {} if rows is None else {"rows": min(rows, self.parameters.get("rows", rows))}
        return build(self.kind, {**self.parameters, **shorter}, seed=seed)


def load(path: str | Path) -> Experiment:
    """Read an experiment.

    Every mistake in it is one error that names the file and the place.
    """
    try:
        text = Path(path).read_text("utf-8")
        return parse(tomllib.loads(text))
    except OSError as error:
        raise QueryError(f'experiment "{path}": cannot be read: {error.strerror}') from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise QueryError(f'experiment "{path}": not TOML: {error}') from error
    except QueryError as error:
        raise QueryError(f'experiment "{path}": {error}') from error


def parse(values: Mapping[str, Any]) -> Experiment:
    """An experiment from a file's values."""
    return call(_experiment, values, where="experiment")


def _experiment(  # noqa: PLR0913  what a config file may say
    *,
    name: str,
    workload: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    policies: Sequence[str | Mapping[str, Any]],
    seeds: int | Sequence[int] = 1,
    batch_rows: int | Sequence[int] = BATCH_ROWS,
    windows: Sequence[str | int | float | Mapping[str, int]] = (),
    repeats: int = 1,
    paper: Sequence[Mapping[str, Any]] = (),
    totals: bool = False,
) -> Experiment:
    if not isinstance(name, str) or not name:
        raise QueryError(f"name: expected a text, got {name!r}")
    if not isinstance(totals, bool):
        raise QueryError(f"totals: expected true or false, got {totals!r}")
    contenders = [_contender(choice) for choice in _fill("policies", policies)]
    labels = [contender.label for contender in contenders]
    if len(set(labels)) < len(labels):
        raise QueryError(f"policies: two of them are called the same, of {quote(labels)}; give them a label")
    if not any(contender.role == BASELINE for contender in contenders):
        raise QueryError(f'policies: expected role = "{BASELINE}" of one at least: what the others are compared with')
    return Experiment(
        name=name,
        points=_points(workload),
        contenders=contenders,
        seeds=_seeds(seeds),
        batch_rows=_sizes(batch_rows),
        windows=_windows(windows),
        repeats=check_whole(repeats, "repeats"),
        marks=[call(_figure, entry, where="paper") for entry in paper],
        totals=totals,
    )


PaperFigure = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The rows that have some values, and what is said of them."""


def _figure(*, where: Mapping[str, Any], calls: float | None = None, seconds: float | None = None) -> PaperFigure:
    """Give the paper's figures for some workloads.

    They are per cent gained in routing calls and in seconds.
    """
    return where, {"paper_calls": calls, "paper_seconds": seconds}


def _sizes(batch_rows: object) -> Sequence[int]:
    return [check_whole(size, "batch_rows") for size in (batch_rows if isinstance(batch_rows, list) else [batch_rows])]


def _windows(windows: object) -> Sequence[Window]:
    """Read windows for all streams, each in turn.

    One is "30 seconds", a number, or {rows = 100}.
    """
    return [_window(window) for window in _fill("windows", windows)] if windows else []


def _window(window: object) -> Window:
    try:
        if isinstance(window, Mapping) and set(window) == {"rows"}:
            return Rows(window["rows"])
        if isinstance(window, str | int | float) and not isinstance(window, bool):
            return Range(window)
    except EddyError as error:
        raise QueryError(f"windows: {error}") from error
    raise QueryError(f'windows: expected a duration such as "30 seconds", a number, or {{rows = 100}}, got {window!r}')


def _contender(choice: object) -> Contender:
    parameters = {"name": choice} if isinstance(choice, str) else choice
    if not isinstance(parameters, Mapping) or not isinstance(parameters.get("name"), str):
        raise QueryError(f'policies: expected a name, or {{name = "...", parameter = value}}, got {choice!r}')
    role = parameters.get("role", "")
    if role not in ("", *ROLES):
        raise unknown_name("role", str(role), ROLES, where=f'policy "{parameters["name"]}"')
    given = {
        key: value for key, value in parameters.items() if key not in {"label", "role", "batch_rows", "cache_memory"}
    }
    own, memory = parameters.get("batch_rows"), parameters.get("cache_memory")
    label = parameters.get("label", label_of(given))
    batch_rows = None if own is None else check_whole(own, "batch_rows", where=f'policy "{label}"')
    cache_memory = None if memory is None else check_whole(memory, "cache_memory", 0, where=f'policy "{label}"')
    return make_contender(given, label=str(label), role=role, batch_rows=batch_rows, cache_memory=cache_memory)


def _points(workload: object) -> list[GridPoint]:
    return [point for grid in (workload if isinstance(workload, list) else [workload]) for point in _grid(grid)]


def _grid(workload: object) -> list[GridPoint]:
    """Yield every combination of values of the parameters.

    Only those with several values are combined.
    """
    if not isinstance(workload, Mapping):
        raise QueryError(f"workload: expected a table of parameters, got {workload!r}")
    kind = check_choice(workload.get("kind"), WORKLOADS, "kind", where="workload")
    flat = dict(_flatten({key: value for key, value in workload.items() if key not in {"kind", "label"}}))
    axes = {place: value for place, value in flat.items() if _is_axis(value)}
    if not all(axes.values()):
        raise QueryError("workload: a list of no values leaves nothing to run")
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return [
        GridPoint(
            kind=kind,
            name=str(workload.get("label", kind)),
            parameters=_nest(flat | chosen),
            varied={place[-1]: value for place, value in chosen.items()},
        )
        for chosen in combinations
    ]


def _is_axis(value: object) -> bool:
    """Tell whether a list is several workloads.

    A list of plain values is; a list of lists is a table, one value.
    """
    return isinstance(value, list) and not any(isinstance(entry, list | dict) for entry in value)


def _flatten(values: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, (*place, name))
        else:
            yield (*place, name), value


def _nest(flat: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for place, value in flat.items():
        inner = nested
        for name in place[:-1]:
            inner = inner.setdefault(name, {})
        inner[place[-1]] = value
    return nested


def _seeds(seeds: object) -> list[int]:
    if isinstance(seeds, list):
        return [check_whole(seed, "seeds", 0) for seed in _fill("seeds", seeds)]
    return list(range(check_whole(seeds, "seeds")))


def _fill(name: str, values: object) -> Sequence[Any]:
    if not isinstance(values, list) or not values:
        raise QueryError(f"{name}: expected a list of one or more, got {values!r}")
    return values
