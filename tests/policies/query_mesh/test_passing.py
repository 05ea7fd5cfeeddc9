"""Changes that do not show in what a row costs are noticed, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.policies.query_mesh.promise import NOTING_SHARE, Noting, PassCounts, Watch
from tests.policies.query_mesh.streams import attribute, calls, mesh, outcomes, run, stream

ROWS = 40_000
UNIT = np.ones(3)
ALL = (0, 1, 2)
ALONE = ((0,), (1,), (2,))


def verdicts(rates: list[float], rows: int = 1_000) -> np.ndarray:
    return (np.random.default_rng(0).random((rows, len(rates))) < rates).astype(np.float64)


def went(passing: PassCounts, rates: dict[int, float], rows: int = 1_000) -> PassCounts:
    for operator, rate in rates.items():
        passing.count(operator, rows, rows * rate)
    return passing


def test_an_operator_that_begins_to_drop_more_behind_others_is_followed() -> None:
    """Rows of one kind take the filter that drops half, then two that drop little; the last of them begins to drop."""
    late = np.arange(ROWS) >= ROWS // 8 * 5
    kind = attribute(ROWS, 2, 20)
    before = [[0.5, 0.9, 0.97], [0.5, 0.9, 0.05]]
    after = [[0.5, 0.9, 0.05], [0.5, 0.9, 0.05]]
    found = run(mesh("kind"), stream({"kind": kind}, outcomes(kind + 2 * late, [*before, *after], 21)))
    decisions = found.report.decisions()
    reasons = decisions.loc[decisions["batch"] >= 25, "reason"].tolist()
    assert "of a row was promised to pass op2" in reasons[0]
    assert calls(found, 35) < 1.1


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_go_on_as_they_were_break_no_promise(seed: int) -> None:
    kind = attribute(ROWS, 3, 30 + seed)
    table = [[0.5, 0.9, 0.97], [0.4, 0.45, 0.5], [0.9, 0.05, 0.3]]
    found = run(mesh("kind"), stream({"kind": kind}, outcomes(kind, table, seed)), batch_rows=500, seed=seed)
    assert not found.report.decisions()["reason"].str.contains("promised").any()


def test_what_another_order_would_save_is_counted() -> None:
    passing = PassCounts.of(verdicts([0.5, 0.9, 0.97]), ALONE, ALL, UNIT, 1_000)
    assert went(passing, {0: 0.5, 1: 0.9, 2: 0.97}).regret == 0.0
    changed = went(passing, {0: 0.5, 1: 0.9, 2: 0.0}, rows=20_000)
    assert [operator for operator, _, _ in changed.changes()] == [2]
    assert changed.regret == pytest.approx(1 + 0.5 + 0.45 - 1, abs=0.05)
    changed.pay(100)
    assert changed.lost == pytest.approx(100 * changed.regret)


def test_a_change_that_no_other_order_would_gain_by_is_none() -> None:
    passing = went(
        PassCounts.of(verdicts([0.1, 0.5, 0.9]), ALONE, ALL, UNIT, 1_000), {0: 0.02, 1: 0.6, 2: 0.99}, 20_000
    )
    assert list(passing.changes())
    assert passing.regret == 0.0


def test_correlated_operators_in_an_order_that_was_drawn_are_not_taken_for_changed() -> None:
    """The second passes what the first passes: half of all rows, and everything that has passed the first."""
    first = verdicts([0.5])
    alike = np.hstack((first, first, verdicts([0.9])))
    for rate in (0.5, 0.8, 1.0):
        passing = PassCounts.of(alike, ((0, 1), (2,)), ALL, UNIT, 1_000)
        assert not list(went(passing, {1: rate}, 20_000).changes())
    apart = PassCounts.of(alike, ALONE, ALL, UNIT, 1_000)
    assert [operator for operator, _, _ in went(apart, {1: 0.5}, 20_000).changes()] == [1]


def test_what_nobody_has_seen_is_not_promised() -> None:
    """The second one has to wait for a probe: what comes to it, and to those behind it, no sample shows."""
    passing = went(PassCounts.of(verdicts([0.5, 1.0, 1.0]), ALONE, (0, 2), UNIT, 1_000), {1: 0.0, 2: 0.0}, 20_000)
    assert not list(passing.changes())


def test_what_is_counted_survives() -> None:
    passing = went(PassCounts.of(verdicts([0.5, 0.9, 0.97]), ALONE, ALL, UNIT, 1_000), {2: 0.0}, 20_000)
    passing.pay(10)
    again = PassCounts.restore(passing.snapshot())
    assert again.snapshot() == passing.snapshot()
    assert (again.regret, again.lost) == (passing.regret, passing.lost)


def test_a_round_is_noted_once_the_last_note_is_paid() -> None:
    notes = Noting()
    assert notes.is_due
    notes.pay(1.0)
    notes.earn(0.9 / NOTING_SHARE)
    again = Noting()
    again.restore(notes.snapshot())
    assert not again.is_due
    again.earn(0.2 / NOTING_SHARE)
    assert again.is_due
    # What operators took before is not saved up.
    again.pay(0.1)
    assert not again.is_due


def test_noted_rows_speak_for_those_before_them() -> None:
    notes, watch = Noting(), Watch(np.ones(1), np.ones(1), np.full(1, 100.0), 1_000)
    notes.pass_by(3_000)
    watch.count(np.full(1, 1_000.0), np.full(1, 2_000.0), notes.speak_for(1_000.0))
    assert (watch.spent, watch.missed) == (8_000.0, 4_000.0)
    assert notes.speak_for(1_000.0) == 1.0
