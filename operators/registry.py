"""Every operator there is."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Operator
from eddy.operators.cached import Cached
from eddy.operators.exists import Exists
from eddy.operators.filter import FilterOperator
from eddy.operators.meets import Meets
from eddy.operators.probe import Probe
from eddy.operators.whole import Whole

OPERATORS: dict[str, Callable[..., Operator]] = {
    "filter": FilterOperator,
    "exists": Exists,
    "probe": Probe,
    "meets": Meets,
    "cached": Cached,
    "whole": Whole,
}
