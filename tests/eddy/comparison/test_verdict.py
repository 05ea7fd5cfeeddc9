"""The verdict: whom to choose, what it saves, and when nothing can be said."""

from __future__ import annotations

from typing import Any

import pytest

from eddy.comparison.verdict import by_workload, verdict
from tests.eddy.comparison.worlds import run, runs

STEADY = {"fixed": [2.0, 2.02, 1.98], "again": [2.01, 1.99, 2.0]}
"""The baseline, and itself once more: about one per cent is noise."""


@pytest.mark.parametrize(
    ("seconds", "choice", "measured", "says"),
    [
        ({"content": [1.0, 1.01, 0.99]}, "content", True, 'Choose "content": on this data it saves 50 %'),
        ({"content": [2.0, 1.99, 2.01]}, "fixed", False, "is within noise"),
        ({"content": [1.0, 2.0, 2.5]}, "fixed", False, "is within noise"),
        ({"content": [3.0, 3.01, 2.99]}, "fixed", True, "every other policy takes longer"),
        ({"content": [1.5, 1.5, 1.5], "source": [1.0, 1.01, 0.99]}, "source", True, 'Choose "source"'),
        ({"knows": [0.5, 0.5, 0.5], "content": [1.0, 1.0, 1.01]}, "content", True, 'Choose "content"'),
        (
            {"content": [1.0, 1.02, 0.98], "source": [1.01, 1.02, 0.99]},
            "content",
            True,
            '"source" cannot be told from it',
        ),
    ],
)
def test_who_is_chosen(seconds: dict[str, list[float]], choice: str, measured: bool, says: str) -> None:
    found = verdict(runs(**STEADY, **seconds))
    assert (found.choice, found.measured) == (choice, measured)
    assert says in str(found)


def test_what_differs_less_than_the_same_policy_from_itself_is_noise() -> None:
    """The saving alone looks certain; the control shows that such savings come about by nothing."""
    shaky = {"fixed": [2.0, 2.0, 2.0], "again": [1.4, 2.4, 2.6], "content": [1.6, 1.61, 1.59]}
    assert verdict(runs(**shaky)).choice == "fixed"
    assert verdict(runs(**{**shaky, "again": [2.0, 2.01, 1.99]})).choice == "content"


def test_a_noisy_machine_is_told_of() -> None:
    shaky = runs(fixed=[2.0, 2.0, 2.0], again=[1.4, 2.4, 2.6], content=[1.6, 1.61, 1.59])
    assert "ask for more repeats" in str(verdict(shaky))
    assert "ask for more repeats" not in str(verdict(runs(**STEADY, content=[1.0, 1.01, 0.99])))


def test_one_run_of_each_says_nothing_about_time() -> None:
    found = verdict([run("fixed", 2, calls=200), run("content", 1, calls=100), run("fixed (again)", 2, calls=200)])
    assert found.choice == ""
    assert "says nothing about time" in found.headline
    assert '"content" needs 50 % fewer calls of operators: 2.00 instead of 4.00 a tuple' in str(found)


def test_fewer_calls_that_take_longer_would_pay_with_dear_operators() -> None:
    rows = [*runs(**STEADY), *(run("content", s, calls=50, repeat=n) for n, s in enumerate([3.0, 3.01, 2.99]))]
    found = str(verdict(rows))
    assert "that would pay where a call costs 20,000 microseconds more" in found.lower()


def test_where_the_data_decides_each_is_named() -> None:
    slow = [{**row, "workload": "cheap"} for row in runs(**STEADY, content=[3.0, 3.0, 3.01])]
    quick = [{**row, "workload": "dear"} for row in runs(**STEADY, content=[1.0, 1.0, 1.01])]
    assert {name: part.choice for name, part in by_workload([*slow, *quick]).items()} == {
        "cheap": "fixed",
        "dear": "content",
    }
    assert str(verdict([*slow, *quick])).startswith(
        'It depends on the data: choose "fixed" on "cheap"; "content" on "dear".'
    )
    says = str(verdict([*slow, *quick]))
    assert 'Choose "fixed": on "cheap" every other policy takes longer, "content" the least, 50 % more.' in says
    assert 'Choose "content": on "dear" it saves 50 %' in says
    assert "One for all: " in says
    again = [{**row, "workload": "dear too"} for row in quick]
    both: Any = verdict([*quick, *again])
    assert both.choice == "content"
    assert "The choice is the same on each of the 2 workloads" in str(both)


def test_where_nothing_is_sure_the_baseline_stays_and_is_not_chosen() -> None:
    unsure = [{**row, "workload": "unsure"} for row in runs(**STEADY, content=[1.0, 2.0, 2.5])]
    quick = [{**row, "workload": "dear"} for row in runs(**STEADY, content=[1.0, 1.0, 1.01])]
    says = str(verdict([*unsure, *quick]))
    assert says.startswith('It depends on the data: choose "content" on "dear"; stay with "fixed" on "unsure".')
    assert 'Stay with "fixed": on "unsure" what others save of its time is within noise.' in says


def test_what_only_all_workloads_together_show_is_said_so() -> None:
    """On each alone, three turns are too few to be sure; together they are not."""
    parts = [
        {**row, "workload": f"w{n}"}
        for n in range(6)
        for row in runs(fixed=[2.0, 2.0, 2.0], again=[2.0, 2.01, 1.99], content=[1.4, 1.7, 2.0])
    ]
    found = verdict(parts)
    assert {part.choice for part in by_workload(parts).values()} == {"fixed"}
    assert (found.choice, found.measured) == ("content", True)
    assert "On each of the 6 workloads alone, that is within noise." in found.reasons


def test_one_run_of_each_is_no_agreement_of_workloads() -> None:
    rows = [{**run(policy, 2), "workload": w} for w in "ab" for policy in ("fixed", "content", "fixed (again)")]
    found = verdict(rows)
    assert found.choice == ""
    assert "the same on each" not in str(found)


def test_with_nobody_to_compare_nothing_is_said() -> None:
    assert verdict(runs(fixed=[1, 1], again=[1, 1])).headline == "There is nothing to compare with."
