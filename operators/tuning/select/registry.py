"""Every way to choose key maps."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.tuning.contracts import Selection
from eddy.operators.tuning.select.bits import Bits
from eddy.operators.tuning.select.chosen import Chosen
from eddy.operators.tuning.select.hash import Hash
from eddy.operators.tuning.select.patterns import Patterns
from eddy.operators.tuning.select.static import Static
from eddy.operators.tuning.select.told import Told

SELECTIONS: dict[str, Callable[..., Selection]] = {
    "patterns": Patterns,
    "hash": Hash,
    "bits": Bits,
    "static": Static,
    "chosen": Chosen,
    "told": Told,
}
