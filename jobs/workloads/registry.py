"""The registry of workloads.

All of them are determined by parameters and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from eddy.comparison.workload import Workload
from eddy.errors import QueryError, unknown_name
from eddy.jobs.workloads.parameters import call

OURS = "eddy.jobs.workloads"
EXPERIMENTS = "eddy.jobs.experiments"
"""What experiments alone need is in the repository, and neither in a wheel nor in `dist/eddy.zip`."""

WORKLOADS: dict[str, str] = {
    "stream_star": f"{EXPERIMENTS}.workloads.stream_star",
    "traps": f"{EXPERIMENTS}.workloads.ordering.traps",
    "lookups": f"{EXPERIMENTS}.workloads.ordering.lookups",
    "attributes": f"{EXPERIMENTS}.workloads.attributes",
    "equi_join": f"{EXPERIMENTS}.workloads.joins.equi_join",
    "chain": f"{EXPERIMENTS}.workloads.joins.chain",
    "points": f"{EXPERIMENTS}.workloads.joins.points",
    "lab": f"{EXPERIMENTS}.workloads.lab",
    "lab_places": f"{EXPERIMENTS}.workloads.lab_places",
    "market": f"{EXPERIMENTS}.workloads.market",
    "multi_route": f"{EXPERIMENTS}.workloads.joins.multi_route",
    "web": f"{OURS}.web",
    "shop": f"{OURS}.shop",
    "flights": f"{EXPERIMENTS}.flights.queries",
    "airports": f"{EXPERIMENTS}.public_data.airports",
    "baseball": f"{EXPERIMENTS}.public_data.baseball",
}
"""Every workload there is, and the module that has the function of its name; a new one is its file and one line here.

A module is imported when its workload is asked for."""


def find_workload(kind: str) -> Callable[..., Workload]:
    """Find the function that makes a workload of a kind.

    >>> find_workload("webb")
    Traceback (most recent call last):
    eddy.errors.QueryError: workload: unknown kind "webb"; did you mean "web"? known: "airports", ...
    """
    if kind not in WORKLOADS:
        raise unknown_name("kind", kind, WORKLOADS, where="workload")
    found: Callable[..., Workload] = getattr(_import(WORKLOADS[kind], f'workload "{kind}"'), kind)
    return found


def import_experiments(name: str, what: str) -> Any:
    """Import a module of the experiments, which is there in a clone of the repository alone."""
    return _import(f"{EXPERIMENTS}.{name}", what)


def _import(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != EXPERIMENTS:
            raise
        raise QueryError(
            f"{what}: expected a clone of the repository, where experiments are; the installed package has none of them"
        ) from None


def build(kind: str, parameters: Mapping[str, Any], *, seed: int) -> Workload:
    """Make a workload by the name of its kind.

    >>> build("web", {"rows": 50}, seed=0).tuples
    50
    """
    return call(find_workload(kind), parameters, where=f"workload {kind}", more=("kind",), seed=seed)
