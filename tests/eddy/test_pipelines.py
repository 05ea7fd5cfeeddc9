"""Reports draw the pipeline of each stream with its caches."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import eddy
from eddy.observe.caching import sum_notes
from eddy.observe.insight import CacheNote
from eddy.observe.sum_cells import CellSum, merge_batches
from eddy.observe.wire import from_plain, to_plain
from tests.eddy.test_caches import pairs

FORCED = {"name": "a_caching", "order": "fixed", "force": ["cached_r_s"]}


def test_a_run_draws_its_pipelines() -> None:
    lines = eddy.explain(pairs(FORCED)).splitlines()
    begin = lines.index("pipelines and their caches")
    drawn = lines[begin + 1 : lines.index("", begin)]
    assert "  t > cached_r_s" in drawn
    (told,) = [line for line in drawn if "cached_r_s" in line and "used" in line]
    assert told.startswith("    cached_r_s by s.k, for probe_s > probe_r: used, it was asked for; ")
    assert " look-ups, 100% hits, " in told
    assert "  r > probe_s > probe_t" in drawn


def test_a_tree_is_drawn_too() -> None:
    text = eddy.explain(pairs({"name": "x_join", "tree": "((r s) t)"}))
    assert "  t > whole_r_s\n    whole_r_s by s.k, for probe_r > probe_s: used, the tree ((r s) t) has it; " in text


def test_runs_without_caches_draw_none() -> None:
    assert "pipelines" not in eddy.explain(pairs("fixed"))


def test_each_cache_says_what_it_saves_and_why() -> None:
    told = pairs({"name": "a_caching", "order": "fixed", "costs": "unit"}).report.caches()
    used = told[told["state"].str.contains("t: used")]
    assert len(used) > 0
    assert (used["benefit"] > 0).all()
    assert used["why"].str.contains("of what the probes take").all()
    batches = pairs(FORCED).report.batches()
    assert (batches["cache_hits"] <= batches["cache_look_ups"]).all()
    assert batches["cache_hits"].sum() > 0


def test_notes_survive_being_sent_and_add_up_over_cells() -> None:
    counted = pairs(FORCED).report.counters[-1]
    assert counted.insight.caches
    sent = from_plain(json.loads(json.dumps(to_plain(counted))))
    assert sent.insight.caches == counted.insight.caches
    whole = CellSum().add(0, {0: counted, 1: sent})
    assert [note._replace(benefit=0.0, cost=0.0) for note in whole.insight.caches] == [
        note._replace(benefit=0.0, cost=0.0) for note in counted.insight.caches
    ]
    assert eddy.Report([whole]).caches()["state"].tolist() == eddy.Report([counted]).caches()["state"].tolist()


@pytest.mark.parametrize(("states", "said"), [(["used", "used", "unused"], "used"), (["tried"], "tried")])
def test_of_several_cells_the_state_of_most_is_told(states: list[str], said: str) -> None:
    note = CacheNote("t", "cached_r_s", "r, s", "s.k", ("probe_s", "probe_r"), "", 1.0, 0.5, "")
    (told,) = sum_notes([[note._replace(state=state, why=f"is {state}")] for state in states])
    assert (told.state, told.why, told.benefit) == (said, f"is {said}", len(states))


def test_two_micro_batches_of_one_engine_keep_the_later_notes() -> None:
    counters = pairs(FORCED).report.counters
    merged = merge_batches(counters[0], replace(counters[-1], batch=1))
    assert merged.insight.caches == counters[-1].insight.caches
