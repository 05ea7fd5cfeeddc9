"""Every way to choose key maps."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.tuning.contracts import Selection
from eddy.operators.tuning.select.bits import Bits
from eddy.operators.tuning.select.chosen import Chosen
from eddy.operators.tuning.select.hash import Hash

SELECTIONS: dict[str, Callable[..., Selection]] = {
    "hash": Hash,
    "bits": Bits,
    # The tuner asks it once, after some training (section 9.1 of the AMRI paper), and never again.
    "static": Bits,
    "chosen": Chosen,
    # The tuner hands it the searches that are to come: the bound that experiments hold others against.
    "told": Chosen,
}
