"""Chains lead to the rows that a look at all rows finds, however rows come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import EngineError
from eddy.kernels.arguments import NO_BOUNDS, Chain, Ranked, Screen, Term, Walk
from eddy.kernels.compiled import link, unlink, walk
from eddy.tuples.arrays import Hashes, Integers, Tags
from eddy.tuples.request import TimeBounds

ENDS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


class Draw:
    """Rows with keys of a few values, hashes for these, and what is asked of them."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
        self.rows, values = self.choose(50, 300, 0, 1, 2), self.choose(3, 40, 1, 1_000)
        self.hashes: Hashes = self.rng.integers(0, 1 << 64, values, np.uint64)
        # Of some values, only the bits behind those of a tag differ.
        self.hashes[: values // 4] = self.hashes[0] ^ np.arange(values // 4).astype(np.uint64)
        self.keys: Integers = self.rng.integers(0, values, self.rows)
        self.values, self.bits, self.first = values, self.choose(1, 3, 8), self.choose(1, 77)

    def choose(self, *some: Any) -> Any:
        return self.data.draw(st.sampled_from(some))

    def tags(self) -> Tags:
        tags: Tags = (self.hashes.take(self.keys) >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
        unlinked: Tags = (self.rng.random(self.rows) < self.choose(0.0, 0.2)).astype(np.uint32)
        return tags ^ unlinked

    def chain(self) -> Chain:
        reach = self.rows.bit_length() + self.choose(0, 3)
        return Chain(np.zeros(1 << self.bits, np.uint32), np.zeros(self.rows, np.uint32), self.first, reach)

    def asked(self, stored: int, keys: Integers, wanted: Integers) -> Screen:
        tuples, rng = len(wanted), self.rng
        own = keys.astype(self.choose(np.int16, np.int64))
        valid, known = (self.choose(None, rng.random(size) < 0.8) for size in (stored, tuples))
        before = self.choose(None, rng.integers(0, stored + 2, tuples))
        ranks = Ranked(np.arange(stored) + 7, self.choose(-20, 0, 5))
        any_ranks = Ranked(rng.integers(-1, stored + 2, stored), 0, rises=False)
        low, high = (rng.choice([*ENDS, 3, 9, 15], tuples) for _ in range(2))
        return Screen(
            terms=[Term("=", own, valid, wanted, known)][: self.choose(0, 1)],
            before=before,
            ranked=None if before is None else self.choose(None, ranks, any_ranks),
            times=self.choose(*[np.sort(rng.integers(0, 20, stored))] * 2, None),
            bounds=TimeBounds(self.choose(None, low), self.choose(None, high)),
            alive=self.choose(None, rng.random(stored) < 0.8),
            stored=stored,
        )


@given(data=st.data())
def test_rows_are_linked_in_parts_and_taken_out_again(data: st.DataObject) -> None:
    draw = Draw(data)
    tags, (cut, back) = draw.tags(), draw.rng.integers(0, draw.rows + 1, 2).tolist()
    chain = draw.chain()
    at_once = chain._replace(heads=chain.heads.copy(), links=chain.links.copy())
    link(chain, tags[:cut], 0)
    link(chain, tags[cut:], cut)
    unlink(chain, tags[back:], back)
    link(chain, tags[back:], back)
    link(at_once, tags, 0)
    assert chain.heads.tolist() == at_once.heads.tolist()
    assert chain.links.tolist() == at_once.links.tolist()


def drawn(draw: Draw, tuples: int) -> tuple[Walk, Screen, Tags]:
    """Rows in chains, of which the oldest may have gone, tuples that follow them, and the tags of the rows."""
    chain = draw.chain()
    tags = draw.tags()
    link(chain, tags, 0)
    gone = draw.choose(0, 0, draw.rows // 2, draw.rows)
    chain = chain._replace(links=chain.links[gone:], first=chain.first + gone)
    wanted = draw.rng.integers(0, draw.values, tuples)
    asked = draw.asked(draw.rows - gone, draw.keys[gone:], wanted)
    rises = draw.choose(True, False)
    if asked.times is not None and not rises:
        draw.rng.shuffle(asked.times)
    return Walk(chain, draw.hashes.take(wanted), rises), asked, tags[gone:]


@given(data=st.data())
def test_tuples_find_what_a_look_at_all_rows_finds(data: st.DataObject) -> None:
    """From a first tuple on, up to so many candidates, but all of one tuple in any case."""
    draw = Draw(data)
    tuples = draw.choose(1, 2, 20)
    given, asked, tags = drawn(draw, tuples)
    first, most = draw.data.draw(st.integers(0, tuples - 1)), draw.choose(0, 1, 30, 1 << 18)
    pairs = [(at, row) for at in range(first, tuples) for row in range(len(tags))]
    seen = [pair for pair in pairs if is_candidate(given, asked, tags, *pair)]
    found = walk(given, asked, first, most, False)
    counts = np.cumsum(np.bincount([at for at, _ in seen], minlength=tuples)[first:])
    assert found.stop == first + max(int(np.searchsorted(counts, most, side="right")), 1)
    assert found.candidates == counts[found.stop - first - 1]
    expected = [(at, row) for at, row in seen if at < found.stop and is_right(asked, at, row)]
    assert list(zip(found.at.tolist(), found.rows.tolist(), strict=True)) == expected
    newest = walk(given, asked, first, 1 << 18, True)
    assert dict(zip(newest.at.tolist(), newest.rows.tolist(), strict=True)) == dict(
        pair for pair in seen if is_right(asked, *pair)
    )


def is_right(asked: Screen, at: int, row: int) -> bool:
    """What is asked of a candidate, one thing after the other."""
    said = [asked.alive is None or bool(asked.alive[row])]
    for term in asked.terms:
        said += [int(term.own[row]) == int(term.wanted[at])]
        said += [part[place] for part, place in ((term.valid, row), (term.known, at)) if part is not None]
    return all(said)


def is_candidate(walk: Walk, asked: Screen, tags: Tags, at: int, row: int) -> bool:
    """Whether a row has the tag of a tuple that has all its codes, had come before it, and is inside the windows."""
    tag, chain = int(tags[row]), walk.chain
    # A head and the bits of a link that are no distance tell so many bits of a tag.
    unknown = max(chain.shift + chain.reach - 32, 0)
    said = [tag & 1, tag >> unknown == (int(walk.hashes[at]) >> 32 | 1) >> unknown]
    said += [term.known[at] for term in asked.terms if term.known is not None]
    if asked.before is not None:
        said.append(row < asked.before[at])
    if asked.before is not None and asked.ranked is not None:
        said.append(asked.ranked.ranks[row] >= asked.before[at] + asked.ranked.shift)
    if asked.times is not None:
        earliest, latest = asked.bounds
        said.append(earliest is None or asked.times[row] >= earliest[at])
        said.append(latest is None or asked.times[row] <= latest[at])
    return all(said)


@pytest.mark.parametrize(("rises", "found"), [(False, [0, 1, 3]), (True, [3])])
def test_an_old_row_ends_a_chain_only_where_rows_rise(rises: bool, found: list[int]) -> None:
    chain = Chain(np.zeros(2, np.uint32), np.zeros(4, np.uint32), 1, 8)
    link(chain, np.full(4, 1, np.uint32), 0)
    asked = Screen([], None, None, np.array([9, 9, 2, 9]), TimeBounds(np.array([5]), None), None, 4)
    walked = walk(Walk(chain, np.ones(1, np.uint64), rises), asked, 0, 100, False)
    assert (walked.rows.tolist(), walked.candidates) == (found, len(found))


@pytest.mark.parametrize(("rises", "found"), [(False, [0, 1, 3]), (True, [3])])
def test_a_row_that_is_outrun_ends_a_chain_only_where_ranks_rise(rises: bool, found: list[int]) -> None:
    chain = Chain(np.zeros(2, np.uint32), np.zeros(4, np.uint32), 1, 8)
    link(chain, np.full(4, 1, np.uint32), 0)
    asked = Screen([], np.array([4]), Ranked(np.array([9, 9, 0, 9]), 0, rises=rises), None, NO_BOUNDS, None, 4)
    walked = walk(Walk(chain, np.ones(1, np.uint64), False), asked, 0, 100, False)
    assert (walked.rows.tolist(), walked.candidates) == (found, len(found))


def test_a_hot_key_has_room_and_ends_a_go() -> None:
    """One tuple finds more than there was room for; the next one waits for its turn."""
    chain = Chain(np.zeros(2, np.uint32), np.zeros(5_000, np.uint32), 1, 13)
    link(chain, np.full(5_000, 9, np.uint32), 0)
    given = Walk(chain, np.full(3, 9 << 32, np.uint64), False)
    asked = Screen([], None, None, None, NO_BOUNDS, None, 5_000)
    for most, stop in ((10, 1), (9_999, 1), (10_000, 2), (15_000, 3)):
        found = walk(given, asked, 0, most, False)
        assert (found.stop, found.candidates, len(found.rows)) == (stop, 5_000 * stop, 5_000 * stop)
        assert found.rows[:5_000].tolist() == list(range(5_000))


def test_a_head_that_leads_to_no_row_is_an_error() -> None:
    chain = Chain(np.zeros(2, np.uint32), np.zeros(4, np.uint32), 1, 8)
    link(chain, np.full(4, 1, np.uint32), 0)
    chain.heads[0] = 9
    with pytest.raises(EngineError, match="do not fit each other"):
        walk(
            Walk(chain, np.ones(1, np.uint64), False),
            Screen([], None, None, None, NO_BOUNDS, None, 4),
            0,
            100,
            False,
        )


@pytest.mark.parametrize("broken", ["heads", "begin", "unlink", "reach", "own", "wanted", "times"])
def test_no_kernel_reads_or_writes_behind_the_end_of_an_array(broken: str) -> None:
    with pytest.raises(EngineError, match="inside of the arrays"):
        link_and_walk(broken)


def link_and_walk(broken: str) -> None:
    chain = Chain(np.zeros(3 if broken == "heads" else 4, np.uint32), np.zeros(4, np.uint32), 1, 8)
    chain = chain._replace(reach=2 if broken == "reach" else 8)
    link(chain, np.full(4, 1, np.uint32), 1 if broken == "begin" else 0)
    unlink(chain, np.full(1, 1, np.uint32), 4 if broken == "unlink" else 3)
    own, wanted = np.zeros(3 if broken == "own" else 4, np.int64), np.zeros(1 if broken == "wanted" else 2, np.int64)
    times = np.zeros(3 if broken == "times" else 4, np.int64)
    asked = Screen([Term("=", own, None, wanted, None)], None, None, times, NO_BOUNDS, None, 4)
    walk(Walk(chain, np.ones(2, np.uint64), False), asked, 0, 100, False)
