"""Arrays of numbers are counted alike by every numpy that we run on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eddy.tuples.arrays import count_bits, look_bits_up

MASKS = st.lists(st.integers(0, 2**62), max_size=20)


@given(MASKS)
def test_bits_are_counted(masks: list[int]) -> None:
    expected = [mask.bit_count() for mask in masks]
    assert count_bits(np.array(masks, np.int64)).tolist() == expected
    assert look_bits_up(np.array(masks, np.int64)).tolist() == expected


def test_bits_of_a_table_are_counted() -> None:
    masks = np.arange(12).reshape(3, 4).T
    assert look_bits_up(masks).tolist() == [[int(mask).bit_count() for mask in row] for row in masks]
