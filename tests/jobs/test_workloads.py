"""Every workload follows from its parameters and its seed, and a parameter that is wrong is one clear error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from eddy.comparison.workload import Workload
from eddy.errors import QueryError, need_package
from eddy.jobs.workloads.registry import WORKLOADS, build

SKEWED = {"table": "skew", "A": 0.1}

SMALL: Mapping[str, Mapping[str, Any]] = {
    "stream_star": {"operators": 2, "selectivities": SKEWED, "rows": 100},
    "traps": {"example": "4.5.1", "rows": 100},
    "lookups": {"keys": 10, "rows": 100},
    "attributes": {"operators": 4, "selectivities": SKEWED, "shape": "codes", "rows": 100},
    "multi_route": {"rows": 400},
    "chain": {"rows": 600},
    "points": {"point": "d1", "rows": 1_000},
    "flights": {"rows": 100, "months": 1},
    "baseball": {"rows": 100},
}
"""What a workload needs besides its seed; the others take 600 rows."""

AS_IT_WAS = ("flights", "baseball")
"""Data of what happened, which no seed changes."""


def make(kind: str, seed: int = 0, **changes: Any) -> Workload:
    return build(kind, {**SMALL.get(kind, {"rows": 600}), **changes}, seed=seed)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_workload_follows_from_its_parameters_and_its_seed(kind: str) -> None:
    one, same, other = (make(kind, seed) for seed in (4, 4, 5))
    assert all(one.data[name].equals(same.data[name]) for name in one.data)
    assert one.truth == same.truth
    assert all(one.data[name].equals(other.data[name]) for name in one.data) == (kind in AS_IT_WAS)


PATHS = "multi_route: paths: expected a whole number from 1 to 6, or one for each of 4 streams, got"

WRONG: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "stream_star": {
        "stream_star: operators: expected a whole number of 1 or more, got 0": {"operators": 0},
        "stream_star: rows: expected a whole number of 1 or more, got 0.5": {"rows": 0.5},
        "stream_star: correlation: expected a share from 0 to 1, got 2": {"correlation": 2},
        "stream_star: correlation: expected a share from 0 to 1, got 'half'": {"correlation": "half"},
        'stream_star: unknown spread "poison"; did you mean "poisson"?': {"spread": "poison"},
        'stream_star: unknown form "table"; did you mean "tables"?': {"form": "table"},
        'cost_us of 0 or more, with form "filters" only, got 5': {"form": "tables", "cost_us": 5},
        "a cost_us above 0 for each of 2 operators, or one for all, got [1, 2, 3]": {"cost_us": [1, 2, 3]},
        "a cost_us above 0 for each of 2 operators, or one for all, got [1, 0]": {"cost_us": [1, 0]},
        "stream_star: groups: expected a whole number of 1 or more, got 0": {"groups": 0},
        "stream_star: expected groups of at most 2 operators, got 3": {"groups": 3},
        "stream_star: same: expected a share from 0 to 1, got 1.2": {"groups": 2, "same": 1.2},
        "stream_star: expected correlation or groups, got both": {"groups": 2, "correlation": 0.5},
        'drift permuted: unknown parameter "selectivities"': {
            "drift": {"kind": "permuted", "period": 5, "selectivities": SKEWED}
        },
        "drift: expected the selectivities that it leads to, got none": {"drift": {"kind": "sudden", "at": 5}},
        "drift: expected as many classes as before, 2, got 1": {
            "drift": {"kind": "sudden", "at": 5, "selectivities": [[0.5, 0.5]]}
        },
    },
    "attributes": {
        "attributes: appear: expected a share from 0 to 1, got 2": {"appear": 2},
        "attributes: cost_us: expected a number of 0 or more, got -1": {"cost_us": -1},
        "attributes: expected dear of 1 or more, with cost_us above 0, got 5": {"dear": 5},
        'shape: unknown kind "outliers"; did you mean "outlier"?': {"shape": "outliers"},
        "shape lognormal: expected sigma above 0, got 0": {"shape": {"kind": "lognormal", "sigma": 0}},
        'shape text: unknown parameter "zip"; did you mean "zipf"?': {"shape": {"kind": "text", "zip": True}},
    },
    "traps": {
        'traps: unknown example "4.5.2"; did you mean "4.5.1"?': {"example": "4.5.2"},
        "traps: expected at most 100 filters, got 101": {"filters": 101},
        "traps: expected a change in example 4.6.1 only, got 5": {"change": 5},
        "traps: change: expected a whole number of 1 or more, got 0": {"example": "4.6.1", "change": 0},
    },
    "lookups": {
        "lookups: keys: expected a whole number of 1 or more, got 0": {"keys": 0},
        "lookups: match: expected a share from 0 to 1, got 1.5": {"match": 1.5},
        "expected one match for all of 3 tables or one for each, got [0.5, 0.5]": {"match": [0.5, 0.5]},
        "expected one match for all of 3 tables or one for each, got 'half'": {"match": "half"},
        "lookups: expected fan_out to be a whole number of 1 or more, got 2.5": {"fan_out": 2.5},
    },
    "chain": {
        "chain: streams: expected a whole number": {"streams": 2},
        "chain: meets: expected a share": {"meets": 1.5},
        "chain: rates: expected 3 numbers above 0, as \"1 1 5\", got '1 1 x'": {"rates": "1 1 x"},
        'chain: rates: expected 3 numbers above 0, as "1 1 5", got [1, 0, 1]': {"rates": [1, 0, 1]},
        "chain: burst: expected a number from 1 to 100": {"burst": 0},
        "chain: common: expected True or False": {"common": 1},
    },
    "points": {
        'points: unknown point "d9"': {"point": "d9"},
        "points: common: expected a share": {"common": 2},
        "points: window: expected a whole number": {"window": 0},
    },
    "multi_route": {
        f"{PATHS} 7": {"paths": 7},
        f"{PATHS} [1, 2]": {"paths": [1, 2]},
        f"{PATHS} '6 6 2'": {"paths": "6 6 2"},
        "skew: expected a number of 0 or more and below 1, got 1": {"skew": 1},
        'change: unknown parameter "fanout"; did you mean "fan_out"?': {"change": {"at": 5, "fanout": 2}},
        'change: expected the parameter "at", got none': {"change": {"skew": 0.5}},
    },
    "equi_join": {
        "equi_join: streams: expected a whole number of 3 or more, got 1": {"streams": 1},
        "equi_join: expected each stream to have partners": {"selectivities": [[0.0] * 10]},
    },
    "lab": {
        'workload lab: unknown query "q3"': {"query": "q3"},
        "workload lab: days: expected a number from 0.001 to 38, got 99": {"days": 99},
        'lab trace "nowhere.txt": cannot be read': {"trace": "nowhere.txt"},
        "cost_us is for filters": {"query": "joined", "cost_us": 3},
    },
    "lab_places": {"lab_places: expected places to divide 54 sensors, got 4": {"places": 4}},
    "market": {"market: pattern_us: expected a number of 0 or more, got -1": {"pattern_us": -1}},
    "flights": {
        'workload flights: unknown query "risk"': {"query": "risk"},
        "months: expected a whole number from 1 to 12, got 13": {"months": 13},
    },
    "airports": {'workload airports: unknown query "nigth"; did you mean "night"': {"query": "nigth"}},
    "baseball": {'workload baseball: unknown query "bargain"; did you mean "bargains"': {"query": "bargain"}},
}
"""What is said of wrong parameters of each workload."""


def mistakes() -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for kind, told in WRONG.items():
        yield from ((kind, changes, said) for said, changes in told.items())
    yield from ((kind, {"rows": 0}, "rows: expected a whole number of 1 or more, got 0") for kind in WORKLOADS)


@pytest.mark.parametrize(("kind", "changes", "said"), list(mistakes()))
def test_a_wrong_parameter_is_one_clear_error(kind: str, changes: Mapping[str, Any], said: str) -> None:
    with pytest.raises(QueryError) as raised:
        make(kind, **changes)
    assert said in str(raised.value)


def test_a_missing_parameter_or_package_is_one_clear_error() -> None:
    with pytest.raises(QueryError, match='workload points: expected the parameter "point", got none'):
        build("points", {}, seed=0)
    told = r'data: expected the package "nowhere", got none; pip install "eddy-spark\[airports\]"'
    with pytest.raises(QueryError, match=told):
        need_package("nowhere", "airports", "data")
