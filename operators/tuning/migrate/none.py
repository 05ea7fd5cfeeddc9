"""No part gets new indexes: they leave with the old ones (section 8.1)."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.operators.tuning.contracts import OldPart


class MigrateNone:
    """What the paper finds best: what is stored will soon be gone."""

    def choose(self, parts: Sequence[OldPart]) -> Sequence[OldPart]:
        """Give none."""
        return []
