"""What a user of the package sees, and what the author of a plug-in imports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import contracts, version
from eddy.contracts import (
    NOTHING,
    Branch,
    Decision,
    Hop,
    Insight,
    Leg,
    Lineage,
    Observation,
    Policy,
    RouteCost,
    RowIds,
    Setting,
    State,
    Statistic,
    Task,
    check_whole,
    choose,
)
from tests import house


def test_the_package_shows_its_public_names_and_its_rooms() -> None:
    rooms = {room.partition(".")[0] for room in house.ROOMS} - {"eddy", "benchmarks"}
    shown = {name for name in dir(eddy) if not name.startswith("__")}
    assert shown <= {*eddy.__all__, *rooms}
    assert {*eddy.__all__} <= {*dir(eddy)}


def test_the_package_says_its_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert eddy.__version__ == version.checkout_version(house.ROOT)
    monkeypatch.setattr(version, "PACKAGE", "eddy-that-nobody-installed")
    assert version.find_version(tmp_path) == version.UNKNOWN
    settings = (house.ROOT / "setup.cfg").read_text("utf-8")
    (tmp_path / "setup.cfg").write_text(settings.replace("name = eddy-spark", f"name = {version.PACKAGE}"), "utf-8")
    assert version.find_version(tmp_path) == eddy.__version__


class Turns(Policy):
    """Everything that it speaks of comes from one import: each micro-batch another operator goes first."""

    def __init__(self, setting: Setting, *, step: int = 1) -> None:
        self.step = check_whole(step, "step", where='policy "turns"')
        self.features = choose(["s.v"], setting.columns, 4, where='policy "turns"')
        self.turn, self.done = 0, dict[Hop, Statistic]()

    @property
    def insight(self) -> Insight:
        ways = (RouteCost(route=("turns",), share=1.0, predicted=1.0, observed=1.0),)
        made = Decision(stream="s", number=self.turn, reason="", seconds=0.0, ways=ways, tree=(Branch(level=0, way=0),))
        return Insight(decisions=[made])

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        rows: RowIds = np.arange(task.rows)
        return [Leg(route=(ready[self.turn % len(ready)],), rows=rows, tag=task.lineage)]

    def observe(self, observation: Observation) -> None:
        assert all(isinstance(leg.tag, Lineage) for leg in observation.legs)
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            self.done[hop] = self.done.get(hop, NOTHING) + statistic

    def learn(self) -> None:
        self.turn += self.step

    def snapshot(self) -> State:
        return {"turn": self.turn}

    def restore(self, state: State) -> None:
        self.turn = state["turn"]


def test_a_policy_needs_one_import() -> None:
    data = pa.table({"v": range(100)})
    filters = [eddy.Filter(f"by{n}", on="s", where=f"v % {n} = 0") for n in (2, 3)]
    query = eddy.Query(streams=[eddy.Stream("s")], filters=filters, select=["s.v as v"])
    made: list[Turns] = []

    def build(setting: Setting) -> Turns:
        made.append(Turns(setting, step=3))
        return made[-1]

    run = eddy.run_local(query, {"s": data}, policy=build, batch_rows=20)
    assert run.results["v"].to_pylist() == list(range(0, 100, 6))
    assert made[0].turn == 15
    assert sum(statistic.rows_in for statistic in made[0].done.values()) > 100


def test_what_is_passed_on_is_what_it_says() -> None:
    assert len({*contracts.__all__}) == len(contracts.__all__)
    assert all(hasattr(contracts, name) for name in contracts.__all__)


def test_small_policies_import_the_contracts_and_what_policies_share() -> None:
    for name in ("fixed", "random", "source", "lottery"):
        module = next(module for module in house.modules("policies") if module.name == f"eddy.policies.{name}")
        ours = {found.module for found in module.imports if found.module.startswith("eddy.")}
        assert {one for one in ours if not one.startswith("eddy.policies.shared")} == {"eddy.contracts"}
