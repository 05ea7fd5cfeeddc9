"""A switch of key maps, held against what it was to bring.

The work under the maps before is not known of the time after. What is known is how much dearer or cheaper it was than
its price by the model. That ratio, times the price of the maps before for the searches since, is what it would have
been; so another mix of searches, or more rows, are no merit of a switch and no fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.cost import COSTS, price_maps
from eddy.operators.tuning.observed import Observed
from eddy.operators.tuning.workload import Workload

MEASURED = COSTS["work"]
"""The prices of what was done, whichever maps are chosen by."""

WORSE = 0.05
"""By which share of the work a switch must be worse to be taken back: less is chance."""

FAR_WORSE = 0.5
"""By which share it must be worse to be taken back at once, while some rows still have the maps before."""


@dataclass(slots=True)
class Trial:
    """A switch under way.

    `ratio` is the work before over its price. `left` are the rows that have yet to come until most of those that are
    stored have the new maps; `observed` is what was counted after that.
    """

    number: int
    why: str
    before: tuple[KeyMap, ...]
    after: tuple[KeyMap, ...]
    predicted: float
    patterns: int
    ratio: float
    left: int
    migrated: int = 0
    observed: Observed = field(default_factory=Observed)

    def saved(self, workload: Workload) -> float:
        """Give the share of the work that was saved, by the searches since."""
        before = self.ratio * price_maps(self.before, workload, MEASURED)
        return 1 - self.observed.price(MEASURED, workload) / before if before > 0 else 0.0
