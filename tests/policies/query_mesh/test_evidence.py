"""What was counted by buckets that mean something else now is forgotten, and rows that are too few get no route."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eddy.contracts import Hop, Prices, Statistic
from eddy.policies.query_mesh.decision import MeshSettings
from eddy.policies.query_mesh.learn.steps import Work, finish
from eddy.policies.query_mesh.optimizer import optimize
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.stream_mesh import StreamMesh
from tests.policies.query_mesh.worlds import legality, sample, skewed

HOPS = (Hop("f"), Hop("g"))


def made() -> StreamMesh:
    plan = MeshSettings(costs="unit", sample=1_000, training=100, seconds=0.2, window=100, tolerance=0.01)
    return StreamMesh("s", (2, 25), ("f", "g"), plan, Prices(), "first rows")


def keep(mesh: StreamMesh, rows: int) -> None:
    statistics = [Statistic(rows, rows, rows, 0.0)] * 2
    outcomes: list[Any] = [np.ones(rows), np.ones(rows)]
    mesh.evidence.keep(HOPS, statistics, np.zeros((rows, 2), np.uint8), outcomes)


def test_a_sample_goes_with_the_edition_of_its_buckets() -> None:
    mesh = made()
    mesh.follow((1, 1))
    whole = mesh.count_samples(1_000)
    keep(mesh, 20)
    assert not mesh.follow((1, 1))
    assert mesh.count_samples(1_000) == whole - 20
    # Attributes that nobody asked are taken to be as they were.
    assert not mesh.follow((1,), (0,))
    assert mesh.follow((2,), (1,))
    assert len(mesh.evidence.rows) == 0
    assert mesh.count_samples(1_000) == whole


@pytest.mark.parametrize(("rows", "sampled"), [(1_000, 200), (200, 200), (199, 100), (40, 40)])
def test_the_first_sample_is_as_large_as_a_round_gives(rows: int, sampled: int) -> None:
    mesh = made()
    mesh.follow((1, 1))
    assert mesh.count_samples(rows) == sampled


def test_a_route_that_hardly_any_row_of_a_round_would_take_is_merged() -> None:
    chance = np.random.default_rng(0)
    kind = np.where(chance.random(4_000) < 0.008, 2, chance.integers(0, 2, 4_000))
    rows = sample(skewed(kind, 3), kind[:, None], 1)
    routes = [
        len(finish(optimize(rows, np.ones(3), legality(3), 100, overheads, Work()))[0].routes)
        for overheads in (Overheads(level=0.0, bucket=0.0, leg=0.0, rows=batch) for batch in (100_000, 1_000))
    ]
    assert routes == [3, 2]
