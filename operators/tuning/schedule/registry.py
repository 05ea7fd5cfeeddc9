"""Every way to say when indexes are chosen anew."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.tuning.contracts import Schedule
from eddy.operators.tuning.schedule.continuous import Continuous
from eddy.operators.tuning.schedule.hybrid import Hybrid
from eddy.operators.tuning.schedule.periodic import Periodic
from eddy.operators.tuning.schedule.triggered import Triggered

SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "continuous": Continuous,
    "periodic": Periodic,
    "triggered": Triggered,
    "hybrid": Hybrid,
}
