"""What is counted of the indexes of joins, and of how they are chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexCount:
    """One key map of one input in one micro-batch.

    `map` is the key map in words, or "scan". `patterns` are those that it has served, `probes` the tuples that searched
    by it, `lookups` those times the parts that each of them looked into, `ranges` the runs of rows that were found
    there, `candidates` their rows and `matches` those that were verified. `sorted_rows` is the rows put in order for
    it. `predicted` and `observed` are the price of its work, by what was expected and by what was counted.
    """

    input: str
    map: str
    parts: int
    rows: int
    nbytes: int
    patterns: tuple[str, ...]
    probes: int
    lookups: int
    ranges: int
    candidates: int
    matches: int
    sorted_rows: int
    predicted: float
    observed: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """A decision about the key maps of one input.

    `why` names the schedule that asked for it, or says that an earlier one is taken back. `predicted` and `observed`
    are shares of the work that it was to save, and has saved; `observed` is None as long as that is not known.
    `migrated` counts the rows put in order again, `patterns` those that were tracked.
    """

    input: str
    why: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    predicted: float
    observed: float | None
    migrated: int
    patterns: int
