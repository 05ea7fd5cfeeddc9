"""Chains of stored rows, as rows come and go and as there is more room or less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.kernels.arguments import NO_BOUNDS, Screen, Walk
from eddy.kernels.choice import choose_chains, choose_kernels
from eddy.operators.index.structures import chained as chains
from eddy.operators.index.structures.chained import Chained, make_tags
from eddy.tuples.arrays import Integers, Mask, Tags
from eddy.tuples.splitmix import mix

pytestmark = pytest.mark.skipif(choose_kernels().kernels.chains is None, reason="chains need compiled kernels")

VALUES = 30

CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(0, 90)),
        st.tuples(st.just("go"), st.integers(0, 60)),
        st.tuples(st.just("holes"), st.integers(0, 60)),
        st.tuples(st.just("fit"), st.integers(-2, 2)),
    ),
    max_size=12,
)


class Model:
    """The same rows as a list of their keys; some have none."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.chained = Chained()
        self.keys: Integers = np.empty(0, np.int64)
        self.valid: Mask = np.empty(0, np.bool_)

    def read(self, begin: int) -> Tags:
        return make_tags(mix([self.keys[begin:]]), None if self.valid[begin:].all() else self.valid[begin:])

    def change(self, what: str, size: int) -> None:
        if what == "come":
            self.keys = np.append(self.keys, self.rng.integers(0, VALUES, size))
            self.valid = np.append(self.valid, (self.rng.random(size) < 0.8) | (size % 2 == 0))
            assert self.chained.follow(len(self.keys), self.read) >= size
        elif what == "go":
            size = min(size, len(self.keys))
            self.chained.drop(size)
            self.keys, self.valid = self.keys[size:], self.valid[size:]
        elif what == "holes":
            first = min(size, len(self.keys))
            ids = first + np.flatnonzero(self.rng.random(len(self.keys) - first) < 0.7)
            kept = np.append(np.arange(first), ids)
            self.keys, self.valid = self.keys[kept], self.valid[kept]
            if not self.chained.keep(first, ids):
                self.chained.follow(len(self.keys), self.read)
        else:
            self.chained.fit(size, self.read)

    def check(self) -> None:
        wanted = np.arange(VALUES)
        asked = Screen([], None, None, None, NO_BOUNDS, None, len(self.keys))
        walk = Walk(self.chained.chain, mix([wanted]), False)
        found = choose_chains().walk(walk, asked, 0, 1 << 18, False)
        right = [(key, row) for key in wanted for row in np.flatnonzero(self.valid & (self.keys == key)).tolist()]
        assert list(zip(found.at.tolist(), found.rows.tolist(), strict=True)) == right


@given(seed=st.integers(0, 100), changes=CHANGES)
def test_chains_lead_to_the_rows_that_there_are(seed: int, changes: list[tuple[str, int]]) -> None:
    model = Model(seed)
    for change in changes:
        model.change(*change)
        assert len(model.chained) == len(model.keys)
        model.check()


def test_rows_are_numbered_anew_before_numbers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "LAST", 500)
    model = Model(0)
    for _ in range(40):
        model.change("come", 50)
        model.check()
        model.change("go", 40 if len(model.keys) > 100 else 0)
    assert model.chained.chain.first < 500


def test_heads_follow_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "FEWEST_BITS", 2)
    model = Model(0)
    model.change("come", 1_000)
    assert len(model.chained.chain.heads) == 1_024
    model.change("go", 300)
    model.change("come", 1)
    assert len(model.chained.chain.heads) == 1_024
    model.change("go", 600)
    model.change("come", 1)
    assert len(model.chained.chain.heads) == 128
    assert model.chained.fit(-2, model.read)
    assert len(model.chained.chain.heads) == 32
    model.check()


def test_links_reach_as_far_as_there_are_rows() -> None:
    """With little room there are no more heads for twice as many rows, but links have to reach farther."""
    model = Model(0)
    model.change("fit", -2)
    for _ in range(3):
        model.change("come", 200)
        model.check()
    assert len(model.chained.chain.heads) == 256
    assert len(model.keys) < 1 << model.chained.chain.reach
