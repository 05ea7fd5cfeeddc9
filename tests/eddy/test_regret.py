"""What adapting has cost and saved is told as the policy has counted it, and as sums."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

import eddy
from eddy.observe.insight import Branch, Decision, Regret, RouteCost, Trees
from eddy.observe.regret import measure_regret, sum_over_batches, sum_over_cells, tell_adapting, write_regret
from eddy.observe.sum_cells import CellSum
from eddy.observe.wire import from_plain, latest_routes, to_plain
from eddy.wiring import PolicyChoice
from tests.accounts import REASONS, STATES, Accounted, account
from tests.eddy.comparison.worlds import data, query

BATCHES = 5
SECONDS = ["spent", "written", "error", "saved", "sampling", "duels", "control", "learning"]


def run(policy: PolicyChoice = Accounted) -> eddy.Run:
    return eddy.run_local(query(), data(), policy=policy, batch_rows=200 // BATCHES)


def test_each_stream_and_micro_batch_has_its_account() -> None:
    frame = run().report.regret()
    assert list(frame) == ["batch", "stream", "state", "arm", *SECONDS]
    expected = [{"batch": batch, **account("s", batch)._asdict()} for batch in range(BATCHES)]
    assert [pytest.approx(row) for row in frame.to_dict("records")] == expected
    assert frame["state"].tolist() == [*STATES, "in charge"]
    besides = frame[["sampling", "duels", "control", "learning"]].sum(axis=1)
    assert frame["spent"].tolist() == pytest.approx((frame["written"] - frame["saved"] + besides).tolist())


@pytest.mark.parametrize("policy", ["fixed", "content", {"name": "query_mesh", "S": 20}])
def test_policies_without_an_account_show_none(policy: PolicyChoice) -> None:
    found = run(policy)
    assert found.report.regret().empty
    assert list(found.report.regret()) == list(run().report.regret())
    assert tell_adapting(sum_over_batches(found.report.counters)) == ""
    assert "written order" not in eddy.explain(found)
    assert "adapting" not in found.report._repr_html_()
    assert "regrets" not in to_plain(found.report.counters[-1])


def test_decisions_of_a_policy_and_its_arm_are_told_apart() -> None:
    """Both have a decision 0 about the stream, and `auto` has two in one micro-batch."""
    frame = run().report.decisions()
    assert frame[["batch", "policy", "reason", "ways", "tree"]].to_numpy().tolist() == [
        [0, "auto", REASONS[0], 0, ""],
        [1, "auto", REASONS[1], 0, ""],
        [2, "query_mesh", "first rows", 1, "-> even > big"],
        [3, "auto", REASONS[2], 0, ""],
    ]


def test_trees_of_two_deciders_about_one_stream_do_not_mix() -> None:
    def decision(policy: str, number: int, *route: str) -> Decision:
        way = RouteCost(route=route, share=1.0, predicted=1.0, observed=1.0)
        tree = (Branch(level=0, way=0),)
        return Decision(stream="s", number=number, reason="", seconds=0, ways=(way,), tree=tree, policy=policy)

    trees = Trees(lambda _stream, _attributes, _some: [])
    made = [decision("auto", 0, "x"), decision("auto", 1, "y"), decision("query_mesh", 0, "z")]
    told = {key: list(lines) for key, lines in trees.lines(made).items()}
    assert told == {("s", "auto", 0): ["-> x"], ("s", "auto", 1): ["-> y"], ("s", "query_mesh", 0): ["-> z"]}
    assert list(trees.lines(made[2:])) == [("s", "query_mesh", 0)]


def test_accounts_and_decisions_come_back_as_they_were_sent() -> None:
    counters = run().report.counters
    sent = [from_plain(json.loads(json.dumps(to_plain(counted)))) for counted in counters]
    before, after = eddy.Report(counters), eddy.Report(sent)
    pd.testing.assert_frame_equal(after.regret(), before.regret())
    assert after.decisions().equals(before.decisions())
    assert [to_plain(c) for c in sent] == [to_plain(c) for c in counters]


def test_an_account_is_sent_in_few_characters() -> None:
    odd = dict.fromkeys(SECONDS, 1.0 / 3)
    counted = run().report.counters[-1]
    uneven = replace(counted.insight, regrets=[Regret(stream="s", state="idle", arm="written", **odd)])
    rows = to_plain(replace(counted, insight=uneven))["regrets"]
    assert len(json.dumps(rows)) < 120
    assert rows[0][3:] == [0.333333] * len(SECONDS)


def test_reports_of_before_there_were_accounts_are_read() -> None:
    """They wrote the lines of a tree by stream, and decisions without a policy."""
    mesh = {"name": "query_mesh", "S": 20, "costs": "unit"}
    counted = eddy.run_local(query(), data(8_000), policy=mesh, batch_rows=2_000).report.counters[-1]
    written = to_plain(counted)
    assert {len(row) for row in written["decided"]} == {5}
    old = {**written, "trees": {key[0]: list(lines) for key, lines in counted.trees.items()}}
    assert counted.trees
    assert from_plain(old).trees == counted.trees
    assert from_plain(old).insight.regrets == []


def test_cells_add_up_by_stream() -> None:
    parts = [account("a", 3), account("a", 2), account("b", 0), account("a", 3)]
    a, b = sum_over_cells(parts)
    assert b == parts[2]
    own = [parts[0], parts[1], parts[3]]
    for name in SECONDS:
        values = [getattr(part, name) for part in own]
        whole = sum(values) if name != "error" else sum(value**2 for value in values) ** 0.5
        assert getattr(a, name) == pytest.approx(whole)
    assert (a.stream, a.state, a.arm) == ("a", "in charge, in a duel", "query_mesh, written")


def test_only_cells_that_were_called_spend() -> None:
    """Decisions stand while no rows come; an account is of one micro-batch."""
    first, second = (run().report.counters[batch] for batch in (1, 3))
    cells = CellSum()
    both = cells.add(0, {0: first, 1: second})
    alone = cells.add(1, {1: second})
    assert [r.spent for r in both.insight.regrets] == [account("s", 1).spent + account("s", 3).spent]
    assert [pytest.approx(regret._asdict()) for regret in alone.insight.regrets] == [account("s", 3)._asdict()]
    decisions = eddy.Report([both, alone]).decisions()
    assert decisions[["batch", "stream", "policy", "tree"]].to_numpy().tolist() == [
        [0, "s, cell 0", "auto", ""],
        [0, "s, cell 0", "auto", ""],
        [0, "s, cell 1", "auto", ""],
        [0, "s, cell 1", "query_mesh", "-> even > big"],
    ]


def test_the_account_so_far_is_the_sum_with_the_last_state() -> None:
    report = run().report
    (whole,) = sum_over_batches(report.counters)
    assert (whole.state, whole.arm) == ("in charge", "query_mesh")
    assert whole.spent == pytest.approx(report.regret()["spent"].sum())
    assert measure_regret(whole) == pytest.approx(whole.spent / 10 - 1)
    assert write_regret(whole) == "-5.3 %"
    assert write_regret(whole._replace(written=0.0)) == ""
    line = "adapting: 470 ms spent on samples, duels, control and learning; 1 s saved, of 10 s in the written order"
    assert tell_adapting([whole]) == line
    assert tell_adapting([whole, whole._replace(saved=-3.0)]).endswith("; 2 s lost, of 20 s in the written order")


def test_a_run_is_explained_with_its_account_and_its_reasons() -> None:
    lines = eddy.explain(run()).splitlines()
    place = lines.index(tell_adapting(sum_over_batches(run().report.counters)))
    assert lines[place + 1 : place + 3] == [
        "  stream  state      arm          spent  written order  saved  adapting  regret",
        "  s       in charge  query_mesh  9.47 s  10 s ± 600 ms    1 s    470 ms  -5.3 %",
    ]
    place = lines.index('decisions about "s", by "auto"')
    assert [line.split(maxsplit=1) for line in lines[place + 2 : place + 5]] == [
        ["0", REASONS[0]],
        ["1", REASONS[1]],
        ["3", REASONS[2]],
    ]
    assert 'who takes which way of "s", as decided last, by "query_mesh"' in lines
    assert 'decisions about "s", by "query_mesh", and what a row costs' in lines
    assert max(map(len, lines)) <= 120


def test_long_names_leave_an_account_in_a_line() -> None:
    long = "with a name that is rather long"
    parts = [account(f"stream {long}", 3)._replace(state=f"{n} states {long}", arm=f"arm {n}{long}") for n in range(9)]
    counted = run().report.counters[0]
    told = replace(counted, insight=replace(counted.insight, regrets=sum_over_cells(parts)))
    assert max(map(len, eddy.explain(eddy.Report([told])).splitlines())) <= 120


def test_the_tree_that_is_kept_is_that_of_the_one_in_charge() -> None:
    """In a duel the mesh has decided, and rows still go the written way."""
    duel, charge = (run().report.counters[batch] for batch in (2, 3))
    assert latest_routes({}, {"s": duel})["s"]["tree"] == []
    assert latest_routes({}, {"s": charge})["s"]["tree"] == ["-> even > big"]


def test_a_notebook_shows_the_account() -> None:
    assert tell_adapting(sum_over_batches(run().report.counters)) in run().report._repr_html_()
