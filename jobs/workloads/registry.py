"""The registry of workloads.

All of them are determined by parameters and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eddy.comparison.workload import Workload
from eddy.errors import unknown_name
from eddy.jobs.flights.queries import flights
from eddy.jobs.public_data.airports import airports
from eddy.jobs.public_data.baseball import baseball
from eddy.jobs.workloads.attributes import attributes
from eddy.jobs.workloads.joins.chain import chain
from eddy.jobs.workloads.joins.equi_join import equi_join
from eddy.jobs.workloads.joins.multi_route import multi_route
from eddy.jobs.workloads.joins.points import points
from eddy.jobs.workloads.lab import lab
from eddy.jobs.workloads.lab_places import lab_places
from eddy.jobs.workloads.market import market
from eddy.jobs.workloads.ordering.lookups import lookups
from eddy.jobs.workloads.ordering.traps import traps
from eddy.jobs.workloads.parameters import call
from eddy.jobs.workloads.shop import shop
from eddy.jobs.workloads.stream_star import stream_star
from eddy.jobs.workloads.web import web

__all__ = [
    "WORKLOADS",
    "Workload",
    "airports",
    "attributes",
    "baseball",
    "build",
    "chain",
    "equi_join",
    "flights",
    "lab",
    "lab_places",
    "lookups",
    "market",
    "multi_route",
    "points",
    "shop",
    "stream_star",
    "traps",
    "web",
]

WORKLOADS: dict[str, Callable[..., Workload]] = {
    "stream_star": stream_star,
    "traps": traps,
    "lookups": lookups,
    "attributes": attributes,
    "equi_join": equi_join,
    "chain": chain,
    "points": points,
    "lab": lab,
    "lab_places": lab_places,
    "market": market,
    "multi_route": multi_route,
    "web": web,
    "shop": shop,
    "flights": flights,
    "airports": airports,
    "baseball": baseball,
}
"""Every workload there is; a new one is its file and one line here."""


def build(kind: str, parameters: Mapping[str, Any], *, seed: int) -> Workload:
    """Make a workload by the name of its kind.

    >>> build("stream_star", {"operators": 3, "selectivities": {"table": "table1"}, "rows": 50}, seed=0).tuples
    50
    """
    if kind not in WORKLOADS:
        raise unknown_name("kind", kind, WORKLOADS, where="workload")
    return call(WORKLOADS[kind], parameters, where=f"workload {kind}", more=("kind",), seed=seed)
