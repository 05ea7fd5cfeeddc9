"""Every operator there is."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Operator
from operators.filter import Filter
from operators.probe import Probe

OPERATORS: dict[str, Callable[..., Operator]] = {
    "filter": Filter,
    "probe": Probe,
}
