"""More than usual of everything is borne in bounded memory, or refused; many more cases are in the soak."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from eddy.policies.registry import POLICIES
from tests import memory, overload
from tests.overload import LOADS, Load, bear

CLEVER = ("auto", "content", "query_mesh")
"""Policies that keep something of the rows that they have seen."""


@pytest.mark.parametrize("kind", LOADS)
def test_any_load_is_borne(kind: str) -> None:
    assert bear(Load(kind=kind, rows=1, join="a.k = b.k", policy="content")).startswith(kind)


@pytest.mark.parametrize(
    "policy", [name if name in CLEVER else pytest.param(name, marks=pytest.mark.long) for name in sorted(POLICIES)]
)
def test_a_hot_key_takes_no_more_memory_the_hotter_it_is(policy: str) -> None:
    # With so many rows there is already a crowd: as many tuples wait as may.
    took = []
    for rows in (-1_250, 0):
        with memory.measured() as taken:
            overload.hot_key(Load(kind="hot key", rows=rows, join="a.k = b.k", policy=policy))
        took.append(taken.most)
    assert took[1] < 1.3 * took[0]


def test_what_is_taken_is_measured_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="no answer"), memory.measured() as taken:
        _ends_with_an_error(np.ones(1 << 20))
    assert 8 << 20 <= taken.most < 9 << 20


def _ends_with_an_error(held: npt.NDArray[np.float64]) -> None:
    raise ValueError(f"no answer for {len(held)} rows")
