"""The order that rows take, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eddy.contracts import Branch, Decision, RouteCost


def tell_decision(stream: str, plain: Mapping[str, Any]) -> Decision | None:
    """Tell of an order, also from a snapshot: after a restart no rows may have come yet."""
    predicted, observed = plain.get("priced", (None, None))
    if predicted is None:
        return None
    route = tuple(plain["operators"][number] for number in plain["order"])
    priced = np.nan if observed is None else observed
    ways = (RouteCost(route=route, share=1.0, predicted=predicted, observed=priced),)
    number, (reason, _), tree = plain["numbers"][2], plain["told"], (Branch(level=0, way=0),)
    return Decision(stream=stream, number=number, reason=reason, seconds=0.0, ways=ways, tree=tree)
