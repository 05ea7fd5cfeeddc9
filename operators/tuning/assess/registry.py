"""Every way to count access patterns."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.tuning.assess.cdia_highest import CdiaHighest
from eddy.operators.tuning.assess.cdia_random import CdiaRandom
from eddy.operators.tuning.assess.csria import Csria
from eddy.operators.tuning.assess.sria import Sria
from eddy.operators.tuning.contracts import Assessment

ASSESSMENTS: dict[str, Callable[..., Assessment]] = {
    "sria": Sria,
    "csria": Csria,
    # "Physically each DIA node is stored in a SRIA table": without compression a lattice is no more than the order of
    # its nodes, so both select the same, as the paper finds (section 9.2). Experiments say so.
    "dia": Sria,
    "cdia_random": CdiaRandom,
    "cdia_highest": CdiaHighest,
}
