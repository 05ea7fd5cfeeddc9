"""The benchmark of the filters runs, on little data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import filters
from benchmarks.__main__ import SUITES, main

EXPECTED = np.array([1, 2, 3])


def answers(*parts: list[int], by: str = filters.OURS) -> dict[str, object]:
    """Of all contenders; the engine's in parts, and those of one policy as given."""
    right = [pa.record_batch({"id": EXPECTED})]
    given = [pa.record_batch({"id": part}) for part in parts]
    known = {filters.BY_HAND: EXPECTED, filters.CONTROL: EXPECTED, filters.OURS: right, filters.AUTO: right}
    return {**known, by: given}


def test_a_benchmark_names_its_data_and_its_goals() -> None:
    lines = [str(line) for line in filters.cheap(dict.fromkeys((1_000, 10_000), 5))]
    for size, setting, end in ((1_000, lines[1], lines[5]), (10_000, lines[6], lines[10])):
        assert setting.startswith(f"{5 * size:,} rows, micro-batches of {size:,}, seed {filters.SEED}; ")
        assert f"goal at most {filters.CHEAP_GOALS[size]}: " in end
    assert len([line for line in lines if "(control)" in line]) == 2


def test_a_costly_filter_passes_what_it_should() -> None:
    rng = np.random.default_rng(0)
    passed = [filters.accepts(rng.bytes(filters.PAYLOAD), b"0", rounds=2) for _ in range(5_000)]
    assert abs(np.mean(passed) - filters.PASS) < 0.03


def test_answers_in_any_order_agree() -> None:
    filters._agree(answers([3], [1, 2]))


@pytest.mark.parametrize("by", [filters.OURS, filters.AUTO])
@pytest.mark.parametrize("parts", [([1, 2],), ([1, 2, 3], [3]), ([1, 2], [4])])
def test_answers_that_differ_are_found(parts: tuple[list[int], ...], by: str) -> None:
    with pytest.raises(AssertionError, match=f"{by} found .* do not agree"):
        filters._agree(answers(*parts, by=by))


def test_a_suite_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filers"]) == 2
    known = ", ".join(f'"{name}"' for name in SUITES)
    assert capsys.readouterr().err == f'unknown suite "filers"; known: {known}\n'
    assert main(["kernels.search"]) == 2
    assert capsys.readouterr().err.startswith('suite "kernels": unknown benchmark "search"; known: ')
