"""State comes back from Spark as it went in, in whichever form it went."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import eddy
from eddy.snapshot import Snapshot
from eddy.spark import engines, passage
from eddy.spark.passage import LARGE, MARK, inbound, outbound
from tests.eddy.spark.test_attach import local, query
from tests.eddy.spark.test_cell import STREAMS, batches, call, results, shipped

RANDOM = random.Random(0).randbytes(LARGE)


def state(blob: bytes) -> Snapshot:
    return Snapshot(1, "{}", blob)


@pytest.mark.parametrize("blob", [RANDOM, RANDOM + b"x", RANDOM + b"xy", RANDOM[:-1], b"a" * LARGE, b"", b"\xff"])
def test_what_goes_out_comes_in(blob: bytes) -> None:
    out = outbound(state(blob))
    assert inbound(out) == state(blob)
    from_spark: Any = bytearray(out.blob)
    assert inbound(replace(out, blob=from_spark)) == state(blob)


def test_only_what_spark_would_convert_byte_by_byte_is_changed() -> None:
    assert outbound(state(RANDOM)).blob.isascii()
    for blob in (RANDOM[:-1], b"a" * LARGE, b"a" * LARGE * 9 + RANDOM):
        assert outbound(state(blob)) == state(blob)


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every state goes in base64, however small."""
    monkeypatch.setattr(passage, "LARGE", 0)
    monkeypatch.setattr(passage, "MANY", 0)
    yield
    engines.ENGINES.clear()


def turns(came: Iterator[pd.DataFrame], *, forget: bool) -> tuple[Counter[Any], bytes]:
    """Every micro-batch in turn, by a worker that has kept the engine or by others."""
    given, saved, found = shipped(query()), None, Counter[Any]()
    for parcels in came:
        if forget:
            engines.ENGINES.clear()
        sent, saved = call(given, parcels, saved)
        found += results(sent)
    assert saved is not None
    return found, saved[2]


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("forget", [False, True])
def test_a_cell_goes_on_from_either_form(forget: bool) -> None:
    found, blob = turns(batches(), forget=forget)
    assert found == local(query(), STREAMS)
    assert blob.startswith(MARK)


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize(
    "damage",
    [
        lambda blob: blob[:-3],
        lambda blob: blob[:-4],
        lambda blob: blob[:100] + b"!" + blob[101:],
        lambda blob: blob[:100] + (b"A" if blob[100:101] != b"A" else b"B") + blob[101:],
        lambda blob: MARK,
    ],
)
def test_damage_is_found_by_the_checksum(damage: Callable[[bytes], bytes]) -> None:
    given = shipped(query())
    _, saved = call(given, next(batches()))
    engines.ENGINES.clear()
    with pytest.raises(eddy.CheckpointError, match=r"^cell 0: checkpoint: the state cannot be read, the checksum"):
        call(given, next(batches()), (saved[0], saved[1], damage(saved[2])))
