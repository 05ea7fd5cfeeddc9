"""A checkpoint that an older version wrote opens, and the query goes on.

`data/` has the states of the version before operators were watched on their ways (`python -m tests.eddy.old_states`).
"""

from __future__ import annotations

import base64
import copy
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from eddy.contracts import Setting, State
from eddy.engine.snapshot import Snapshot, unpack
from eddy.policies.query_mesh.policy import QueryMesh
from tests.eddy import old_states
from tests.eddy.old_states import BATCHES, POLICIES, QUERIES

DATA = Path(__file__).parent / "data"
HALF = BATCHES // 2


def saved(shape: str, policy: str) -> Snapshot:
    text = json.loads(gzip.decompress((DATA / f"{shape}-{policy}.json.gz").read_bytes()))
    return Snapshot(text["format"], text["meta"], base64.b64decode(text["blob"]))


def meshes(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    return {name: known["current"] for name, known in unpack(snapshot)[0]["state"]["streams"].items()}


@pytest.mark.parametrize(("shape", "policy"), [*itertools.product(QUERIES, POLICIES)])
def test_a_state_of_an_older_version_goes_on_with_the_same_answer(shape: str, policy: str) -> None:
    running = old_states.engine(shape, policy)
    running.restore(saved(shape, policy))
    whole = old_states.engine(shape, "fixed")
    old_states.run(whole, shape, 0, HALF)
    expected = old_states.run(whole, shape, HALF, BATCHES)
    assert expected
    assert old_states.run(running, shape, HALF, BATCHES) == expected
    assert running.read_counters().batch == BATCHES - 1


@pytest.mark.parametrize("shape", QUERIES)
def test_a_mesh_of_an_older_version_is_kept(shape: str) -> None:
    """Its rows are watched by what they cost, until the next mesh has promises of operators too."""
    old = saved(shape, "query_mesh")
    running = old_states.engine(shape, "query_mesh")
    running.restore(old)
    old_states.run(running, shape, HALF, HALF + 1)
    before, after = meshes(old), meshes(running.snapshot())
    assert before.keys() == after.keys() == {stream.name for stream in QUERIES[shape]().streams}
    for name, mesh in before.items():
        assert "passing" not in mesh
        # Rows had one price for each operator, on whichever way. A mesh of a join is kept as it came.
        costs = mesh["costs"] if shape == "join" else [mesh["costs"]] * len(mesh["mesh"]["routes"])
        assert [after[name][part] for part in ("number", "costs")] == [mesh["number"], costs]
        kept = after[name]["mesh"]
        assert kept == {part: mesh["mesh"][part] for part in kept}
    again = old_states.engine(shape, "query_mesh")
    again.restore(running.snapshot())
    old_states.run(again, shape, HALF + 1, BATCHES)
    assert meshes(again.snapshot()).keys() == before.keys()


class Forgetful(QueryMesh):
    """Restores what it is given, without the promises of operators."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, costs="unit", S=64, T=8, d=4, budget_ms=20)

    def restore(self, state: State) -> None:
        less = copy.deepcopy(dict(state))
        for stream in less["streams"].values():
            del stream["current"]["passing"]
        super().restore(less)


@pytest.mark.parametrize("shape", QUERIES)
def test_a_mesh_without_the_promises_of_operators_goes_on(monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.setattr(old_states, "POLICIES", {**POLICIES, "forgetful": Forgetful})
    first, whole = old_states.engine(shape, "forgetful"), old_states.engine(shape, "fixed")
    for running in (first, whole):
        old_states.run(running, shape, 0, HALF)
    again = old_states.engine(shape, "forgetful")
    again.restore(first.snapshot())
    assert old_states.run(again, shape, HALF, BATCHES) == old_states.run(whole, shape, HALF, BATCHES)
    assert len(again.read_counters().insight.decisions) == len(QUERIES[shape]().streams)
