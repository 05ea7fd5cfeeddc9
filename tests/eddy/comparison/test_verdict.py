"""The verdict: whom to choose, what it saves, and when nothing can be said."""

from __future__ import annotations

from typing import Any

import pytest

from eddy.comparison.summary import summary
from eddy.comparison.verdict import judge, judge_workloads, verdict
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


def test_calls_are_told_as_saved_where_the_medians_say_something_else() -> None:
    calls = {"first": (100, 90), "second": (400, 200), "third": (420, 410)}
    rows = [
        run(policy, 2.0, calls=own, workload=workload, repeat=repeat)
        for workload, pair in calls.items()
        for repeat in range(3)
        for policy, own in (("fixed", pair[0]), ("fixed (again)", pair[0]), ("content", pair[1]))
    ]
    said = str(judge(summary(rows), where="taken over all workloads"))
    assert '"content" needs 24 % fewer calls of operators on average over workloads and turns' in said
    assert "the median of all runs is 4.00 instead of 8.00 a tuple" in said
    alone = str(judge(summary([row for row in rows if row["workload"] == "second"]), where="on this data"))
    assert '"content" needs 50 % fewer calls of operators: 4.00 instead of 8.00 a tuple.' in alone


def slow(policy: str, seconds: list[float], calls: int = 100, **parts: float) -> list[dict[str, Any]]:
    """Runs of which it is known where the time went."""
    told = {f"{name}_seconds": share for name, share in parts.items()}
    return [run(policy, s, calls=calls, repeat=n, **told) for n, s in enumerate(seconds)]


@pytest.mark.parametrize(
    ("loser", "says"),
    [
        (
            slow("content", [16.0, 16.1, 15.9], calls=60, operator=0.5, routing=10.0, learning=4.0),
            'all work of the operators under "fixed" is 20,000 µs a row; these filters and joins are too cheap',
        ),
        (
            slow("content", [2.5, 2.51, 2.49], calls=60, operator=0.6, routing=0.4, learning=0.3),
            "deciding takes 14,000 µs a row more, and spares the operators 8,000 µs of 20,000",
        ),
        (
            slow("content", [2.5, 2.51, 2.49], operator=1.1, routing=0.4, learning=0.0),
            "deciding takes 8,000 µs a row more, and spares the operators nothing",
        ),
        (
            slow("content", [6.0, 6.01, 5.99], calls=150, operator=5.0),
            "its operators take 80,000 µs a row more, with 50 % more calls",
        ),
        (
            slow("content", [6.0, 6.01, 5.99], calls=80, operator=5.0),
            "with 20 % fewer calls, a call takes 62,500 µs instead of 10,000",
        ),
        (slow("content", [6.0, 6.01, 5.99]), "its operators take 40,000 µs a row more: with as many calls, a call"),
        (slow("content", [6.0, 6.01, 5.99], operator=1.0), "times as long (95 % interval 2.94 to 3.06 times)."),
    ],
)
def test_a_loser_is_told_how_slow_it_is_and_what_took_the_time(loser: list[dict[str, Any]], says: str) -> None:
    assert says in str(verdict([*runs(**STEADY), *loser]))


def test_who_loses_is_told_of_beside_noise_and_beside_a_winner() -> None:
    slow = {"content": [16.0, 16.1, 15.9]}
    beside = verdict(runs(**STEADY, **slow, source=[2.0, 1.99, 2.01]))
    assert beside.choice == "fixed"
    assert 'what "source" saves of its time is within noise, and "content" takes 8.0 times as long' in beside.headline
    two = verdict(runs(**STEADY, **slow, source=[2.0, 1.99, 2.01], lottery=[2.0, 2.01, 1.98]))
    assert 'what "source", "lottery" save of its time is within noise, and "content" takes' in two.headline
    winner = verdict(runs(**STEADY, **slow, source=[1.0, 1.01, 0.99]))
    assert winner.choice == "source"
    assert '"content" takes 8.0 times as long (95 % interval 7.' in str(winner)
    assert "times as long" not in str(verdict(runs(**STEADY, knows=[16.0, 16.1, 15.9], source=[2.0, 1.99, 2.01])))


def test_a_little_longer_is_told_in_per_cent() -> None:
    assert '"content" takes 25 % longer (95 % interval 1.2' in str(verdict(runs(**STEADY, content=[2.5, 2.51, 2.49])))


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
    assert {name: part.choice for name, part in judge_workloads([*slow, *quick]).items()} == {
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
    assert {part.choice for part in judge_workloads(parts).values()} == {"fixed"}
    assert (found.choice, found.measured) == ("content", True)
    assert "On each of the 6 workloads alone, that is within noise." in found.reasons


def test_one_run_of_each_is_no_agreement_of_workloads() -> None:
    rows = [{**run(policy, 2), "workload": w} for w in "ab" for policy in ("fixed", "content", "fixed (again)")]
    found = verdict(rows)
    assert found.choice == ""
    assert "the same on each" not in str(found)


def test_with_nobody_to_compare_nothing_is_said() -> None:
    assert verdict(runs(fixed=[1, 1], again=[1, 1])).headline == "There is nothing to compare with."
