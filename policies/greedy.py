"""The route that takes the best at every step."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Task
from eddy.lineage import Hop


def greedy_route(task: Task, ready: tuple[Hop, ...], rank: Callable[[Hop], float]) -> tuple[Hop, ...]:
    """A whole route: of the hops that are ready by then always the one of the lowest rank, the first of equals."""
    route: list[Hop] = []
    while ready:
        route.append(min(ready, key=rank))
        ready = task.after(route)
    return tuple(route)
