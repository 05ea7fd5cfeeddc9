"""A policy that does everything a policy may do, at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import UNSEEN, Integers, Leg, Observation, Policy, Setting, State, Task
from eddy.policies.matrix.path_order import find_paths
from eddy.query.join_graph import is_cached, is_kept_whole
from eddy.tuples import Hop


class Wild(Policy):
    """Splits tasks anyhow, and gives each part a route of any length, with anything aside, or an exhaustive leg.

    `joined` says how often it takes several inputs at once where it may; else it draws among all that is allowed.
    `whole` says whether it takes parts of a join that are kept whole, which need their memory.

    It counts its plans and each operator's tuples, so that it has something to lose in a restart. It is not registered:
    it is no use to anybody but to tests.
    """

    joined = 0.2
    whole = True

    def __init__(self, setting: Setting) -> None:
        self._operators = setting.operators
        self.plans = 0
        self.tuples = np.zeros((len(setting.operators), 2), np.int64)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        self.plans += 1
        parts = task.chance().integers(0, task.chance().integers(1, 4), task.rows)
        return [self._leg(task, ready, np.flatnonzero(parts == part)) for part in range(3)]

    def _leg(self, task: Task, ready: tuple[Hop, ...], rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Leg:
        if task.chance().random() < 0.3:
            some = task.chance().permutation(len(ready))[: task.chance().integers(1, len(ready) + 1)]
            asked = [h for h in task.options(()) if not is_joined(h) and task.chance().random() < 0.3]
            route = (*asked, *(ready[i] for i in some), *self._beyond(task, ready, some))
            return Leg(route=route, rows=rows, exhaustive=True)
        with_aside = task.chance().random() < 0.5
        steps: list[Hop] = []
        aside: list[tuple[Hop, ...]] = []
        while ready and (not steps or task.chance().random() < 0.7):
            options = tuple(hop for hop in task.options(steps) if self.whole or not is_kept_whole(hop.operator))
            cached = tuple(hop for hop in options if is_joined(hop))
            hops = cached if cached and task.chance().random() < self.joined else (*ready, *options)
            steps.append(hops[task.chance().integers(len(hops))])
            aside.append(tuple(hop for hop in ready if hop != steps[-1] and task.chance().random() < 0.5))
            ready = task.after(steps)
        return Leg(route=tuple(steps), rows=rows, aside=tuple(aside) if with_aside else ())

    def _beyond(self, task: Task, ready: tuple[Hop, ...], some: Integers) -> Sequence[Hop]:
        """Give probes that are not ready yet, each where its path is in the route by then."""
        paths = find_paths(task.after, task.prices.probes)
        route = {ready[i].operator for i in some}
        beyond = []
        for name, path in paths.items():
            if len(path) > 1 and route.issuperset(hop.operator for hop in path[:-1]) and task.chance().random() < 0.7:
                beyond.append(path[-1])
                route.add(name)
        return beyond

    def observe(self, observation: Observation) -> None:
        for hop, counts in zip(observation.hops, observation.outcomes, strict=True):
            if hop.operator not in self._operators:  # an option
                continue
            told = counts[counts != UNSEEN] if observation.is_profile else counts
            self.tuples[self._operators.index(hop.operator)] += len(told), int(told.sum())

    @property
    def is_calm(self) -> bool:
        return False

    def snapshot(self) -> State:
        return {"plans": self.plans, "tuples": self.tuples}

    def restore(self, state: State) -> None:
        self.plans, self.tuples = state["plans"], state["tuples"]


class Joining(Wild):
    """Takes several inputs at once wherever it may."""

    joined = 0.8
    whole = False


class JoiningWhole(Joining):
    """Takes parts of a join that are kept whole as well."""

    whole = True


def is_joined(hop: Hop) -> bool:
    """Whether an option joins several inputs at once."""
    return is_cached(hop.operator) or is_kept_whole(hop.operator)
