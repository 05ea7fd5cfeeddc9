"""Drops tuples by whether one table has a match for them: semi and anti joins.

Nothing is joined, so it is a filter that looks up what it wants to know, once all inputs that its conditions read are
there. Unlike `meets` it must act, and it must be right: candidates are verified, and one whose condition cannot be
computed leaves its tuple with a fault, unless another row is a match in any case.

    rows found of a tuple       semi            anti
    none                        drops           passes
    some without an answer      with the fault  with the fault
    a match                     passes          drops
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eddy.contracts import FaultCodes, Lineage, Mask, Outcome, Rule, Tuples
from eddy.operators.matching import Matching


class Answered(NamedTuple):
    """Which of the first tuples have a match, their faults, 0 for none, and the candidates that were verified."""

    met: Mask
    faults: FaultCodes | None
    verified: int


class Exists:
    """Lets the tuples pass that have a match in a table, or those that have none."""

    def __init__(self, name: str, matching: Matching, rule: Rule, *, keeps: bool) -> None:
        self.name = name
        self.rule = rule
        self._matching = matching
        self._keeps = keeps

    def pattern(self, lineage: Lineage) -> str:
        """Write by which keys tuples of a lineage search."""
        return self._matching.pattern(lineage)

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """Read what the search reads, and the conditions."""
        return self._matching.reads(lineage)

    def run(self, tuples: Tuples) -> Outcome:
        """Keep the tuples that have a match, or those that have none."""
        passed, faults = np.zeros(len(tuples), np.bool_), np.zeros(len(tuples), np.uint8)
        done = verified = 0
        # Only so many candidates are looked at in one go; nothing is made of them, so it goes on to the last.
        while done < len(tuples):
            met, doubts, evaluated = self._ask(tuples.rest(done) if done else tuples)
            part = slice(done, done + len(met))
            passed[part] = met == self._keeps
            if doubts is not None:
                passed[part] |= doubts > 0
                faults[part] = doubts
            done, verified = part.stop, verified + evaluated
        kept = np.flatnonzero(passed)
        left = tuples.take(kept)
        return Outcome(left.with_faults(faults.take(kept)) if faults.any() else left, passed, done + verified)

    def _ask(self, tuples: Tuples) -> Answered:
        """Tell which tuples have a match, of those that can be looked up in one go."""
        (at, _, found), taken, evaluated = self._matching.match(tuples)
        if found is None:
            return Answered(np.bincount(at, minlength=taken) > 0, None, evaluated)
        met = np.bincount(at[found == 0], minlength=taken) > 0
        faults = np.zeros(taken, np.uint8)
        np.maximum.at(faults, at, found)
        faults[met] = 0
        return Answered(met, faults, evaluated)
