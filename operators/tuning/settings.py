"""What a user says of the indexes of joins: the section `[index]` of a job, `index=` of `run_local`."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("patterns", "hash", "bits", "static", "chosen", "told")
"""Ways to say which key maps a STeM has: one for each access pattern; the `count` most frequent ones; one bit-address
index; that one chosen once; a set of maps chosen by cost; and what is best for the counts that are to come."""

ASSESSMENTS = ("sria", "csria", "dia", "cdia_random", "cdia_highest")
"""Ways to count access patterns."""

SCHEDULES = ("continuous", "periodic", "triggered", "hybrid")
"""When indexes are chosen anew."""

MIGRATIONS = ("none", "all", "partial")
"""Which of the rows that are stored get the new indexes."""

COSTS = ("paper", "work")
"""By which price key maps are chosen: the paper's, or that of the work that we measure."""


@dataclass(frozen=True, kw_only=True)
class IndexSettings:
    """How a join finds its rows.

    `count` indexes of kind `hash`; `bits` of a bit-address index. `epsilon` and `theta` bound what an assessment
    forgets and what it reports. `period` and `trigger` are in requests, as is `training`, after which `static` chooses.
    `merge` and `time_order` say how rows are laid out: as one index for neighbouring segments, and in order of time.
    """

    kind: str = "patterns"
    count: int = 3
    bits: int = 12
    assess: str = "cdia_highest"
    epsilon: float = 0.001
    theta: float = 0.005
    schedule: str = "hybrid"
    period: int = 60_000
    trigger: int = 100_000
    migrate: str = "none"
    merge: bool = True
    time_order: bool = True
    training: int = 60_000
    cost: str | None = None
