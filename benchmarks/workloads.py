"""Four streams that join, with key domains that change.

Rows come in phases of 5,000 a stream; in each the sizes of the key domains are dealt anew, so that another order is
best. A fifth of the rows belong to planted matches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import eddy

STREAMS = "abcd"
ROWS = 40_000
BATCH = 1_000
WINDOW = 10_000
PHASE = 5_000
SEED = 1
PLANTED = 5
"""One row in five belongs to a planted match."""

CLASSES = 4
"""Classes of rows whose keys are correlated; planted rows are a class of their own."""

Ints = np.ndarray[Any, np.dtype[np.int64]]
Columns = dict[str, Ints]
Batch = Mapping[str, pa.RecordBatch]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A join graph, and the sizes of its keys' domains in each phase.

    Where keys are correlated, each of a row's keys tells the row's class, and of two streams the class of the later
    one is one ahead. Any two streams have classes that meet, but no three of them do: what a small domain brings
    together, the next probe drops, in whichever order. Sizes of correlated domains are multiples of five.
    """

    name: str
    keys: Mapping[str, str]
    domains: Callable[[np.random.Generator], Sequence[int]]
    window: int = WINDOW
    correlated: bool = False

    @property
    def streams(self) -> list[str]:
        """The streams with a key, by name."""
        return sorted(set().union(*self.keys.values()))

    def data(self, rows: int, seed: int = SEED) -> dict[str, Columns]:
        """Every stream's columns; a key's name is that of the pair it joins, or of all."""
        rng = np.random.default_rng(seed)
        streams: dict[str, Columns] = {s: {"ts": np.arange(rows), "id": np.arange(rows)} for s in self.streams}
        for key, members in self.keys.items():
            for s in members:
                streams[s][key] = np.zeros(rows, np.int64)
        for start in range(0, rows, PHASE):
            phase = slice(start, min(start + PHASE, rows))
            size = phase.stop - phase.start
            planted = {s: phase.start + rng.permutation(size)[: size // PLANTED] for s in self.streams}
            classes = {s: rng.integers(0, CLASSES, size) for s in self.streams}
            for (key, members), domain in zip(self.keys.items(), self.domains(rng), strict=True):
                same = self._draw(rng, domain, np.full(size // PLANTED, CLASSES))
                for side, s in enumerate(members):
                    streams[s][key][phase] = self._draw(rng, domain, (classes[s] + side) % CLASSES)
                    streams[s][key][planted[s]] = same
        return streams

    def _draw(self, rng: np.random.Generator, domain: int, classes: Ints) -> Ints:
        """A key for each row, of its class where keys are correlated."""
        if not self.correlated:
            return rng.integers(0, domain, len(classes))
        return rng.integers(0, domain // (CLASSES + 1), len(classes)) * (CLASSES + 1) + classes

    def joins(self) -> list[tuple[str, str, str]]:
        """The equalities: key and the two streams."""
        return [
            (key, a, b)
            for key, members in self.keys.items()
            for a, b in (itertools.combinations(members, 2) if len(members) == 2 else itertools.pairwise(members))
        ]

    def query(self) -> eddy.Query:
        """As the engine takes it."""
        return eddy.Query(
            streams=[eddy.Stream(s, time="ts", window=eddy.Range(self.window), delay=0) for s in self.streams],
            joins=[f"{a}.{key} = {b}.{key}" for key, a, b in self.joins()],
            select=[f"{s}.id as {s}" for s in self.streams],
        )


def batches(data: Mapping[str, Columns], rows: int = BATCH) -> list[Batch]:
    """Every stream's rows in micro-batches."""
    tables = {s: pa.table(columns).combine_chunks().to_batches(max_chunksize=rows) for s, columns in data.items()}
    return [dict(zip(tables, parts, strict=True)) for parts in zip(*tables.values(), strict=True)]


PAIRS = {a + b: a + b for a, b in itertools.combinations(STREAMS, 2)}

COMPLETE = Workload(
    name="complete graph, domains from 50 to 10,000",
    keys=PAIRS,
    domains=lambda rng: rng.permutation([50, 200, 500, 1_000, 2_000, 10_000]).tolist(),
)

CONTRAST = Workload(
    name="complete graph with contrast, correlated keys, domains from 5 to 50,000",
    keys=PAIRS,
    domains=lambda rng: rng.permutation([5, 50, 500, 5_000, 50_000, 50_000]).tolist(),
    correlated=True,
)

COMMON = Workload(name="one key of 10,000 values", keys={"k": STREAMS}, domains=lambda _: [10_000])
