"""A tree of two-way joins, whose subresults are kept whole: the plan that caches are compared with.

It follows section 5.3 of Babu's thesis, Adaptive Query Processing in Data Stream Management Systems (2005), which calls
such a plan an XJoin. A row is joined with the other half of the smallest subresult that it is in, then with that of the
next larger one, up to the root. Where it differs: the best tree is found by what is counted in the first rounds, and
not by running all of them; and a plan that adapts to nothing can still be restarted as another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from eddy.contracts import (
    Branch,
    CacheNote,
    Decision,
    Hop,
    Insight,
    Leg,
    Lineage,
    Policy,
    QueryError,
    RouteCost,
    Setting,
    State,
    Task,
    check_whole,
)
from eddy.observe.caching import write_notes
from eddy.policies.caching.tree_costs import TreeCosts
from eddy.policies.caching.trees import Part, find_best_tree, read_tree
from eddy.query.join_graph import is_kept_whole, probe_name, probe_target, whole_name

SEARCH = "search"

LONGEST_SEARCH = 4
"""Times the rounds after which the best tree is taken, also if some stream has no rows in the last of them."""


class XJoin(Policy):
    """Joins in a tree of two-way joins, and keeps all that comes out of each.

    `tree` is written as "((r s) t)". With "search" rows go by probes in random order for so many `rounds`, and then by
    the tree that would have looked at least. Filters come as soon as they may, in the order of the query.

    >>> from eddy.contracts import Prices
    >>> probes = ("probe_r", "probe_s", "probe_t")
    >>> XJoin(Setting(operators=probes, prices=Prices(probes)), tree="((r s) t)").snapshot()
    {'tree': '((r s) t)', 'rounds': 0, 'rows': {}, 'told': {}, 'notes': []}
    """

    def __init__(self, setting: Setting, *, tree: str = SEARCH, rounds: int = 10) -> None:
        self._probes = setting.prices.probes
        self._inputs = [probe_target(name) for name in setting.operators if name in self._probes]
        # By name alone a filter might be taken for one of them.
        self._wholes = frozenset(name for name in setting.options if is_kept_whole(name))
        check_whole(rounds, "rounds", where='policy "x_join"')
        if tree != SEARCH and not self._inputs:
            raise QueryError(f'policy "x_join": tree: expected none, since the query joins nothing, got {tree!r}')
        self._is_told = tree != SEARCH
        self._tree = read_tree(tree, self._inputs) if self._is_told else None
        self._left, self._rounds = rounds, 0
        # Rows of each stream, and its latest task of this round: it says where they might go.
        self._rows: dict[str, int] = {}
        self._tasks: dict[str, Task] = {}
        self._routes: dict[Lineage, tuple[Hop, ...]] = {}
        # Where rows of each stream go, for reports.
        self._told: dict[str, tuple[Hop, ...]] = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """One leg, all the way up the tree."""
        if self._tree is None and self._inputs:
            if not task.lineage.done:
                self._rows[task.lineage.origin] = self._rows.get(task.lineage.origin, 0) + task.rows
                self._tasks[task.lineage.origin] = task
            return [Leg(route=self._draw_route(task))]
        if task.lineage not in self._routes:
            self._routes[task.lineage] = self._find_route(task)
            if not task.lineage.done and self._inputs:
                self._told[task.lineage.origin] = self._routes[task.lineage]
        return [Leg(route=self._routes[task.lineage])]

    def _draw_route(self, task: Task) -> tuple[Hop, ...]:
        """Draw an order of probes, so that all of them become known."""
        route: list[Hop] = []
        while ready := task.after(route):
            probes = [hop for hop in ready if hop.operator in self._probes]
            drawn = len(probes) == len(ready)
            route.append(probes[int(task.chance().integers(len(probes)))] if drawn else self._take_filter(ready))
        return tuple(route)

    def _take_filter(self, ready: Sequence[Hop]) -> Hop:
        return next(hop for hop in ready if hop.operator not in self._probes)

    def _find_route(self, task: Task) -> tuple[Hop, ...]:
        """Find the way up the tree; what a tuple has behind it is left out."""
        route: list[Hop] = []
        spans = set(task.lineage.spans)
        for part in self._tree.climb(task.lineage.origin) if self._tree is not None else ():
            self._filter(task, route)
            while part - spans:
                route.append(self._join(task, route, part, spans))
                spans |= part if route[-1].operator in self._wholes else {probe_target(route[-1].operator)}
        self._filter(task, route)
        return tuple(route)

    def _filter(self, task: Task, route: list[Hop]) -> None:
        while filters := [hop for hop in task.after(route) if hop.operator not in self._probes]:
            route.append(filters[0])

    def _join(self, task: Task, route: Sequence[Hop], part: Part, spans: set[str]) -> Hop:
        """Find the hop that joins a tuple with a part of the tree."""
        ready = [hop for hop in task.after(route) if hop.operator in self._probes]
        near = [hop for hop in ready if probe_target(hop.operator) in part]
        if len(part) == 1 and near:
            return near[0]
        whole = [hop for hop in task.options(route) if hop.operator == whole_name(part)]
        if whole and not part & spans:
            return whole[0]
        # Tuples that were refused go by probes, and so do all where no tree is possible.
        if task.lineage.done or not self._is_told:
            return (near or ready)[0]
        raise QueryError(
            f'policy "x_join": tree "{self._tree}": rows of "{task.lineage.origin}" cannot be joined with '
            f"({' '.join(sorted(part))}): no equality connects them, or they are too many to keep; take another tree"
        )

    def learn(self) -> None:
        """Find the best tree, once enough rounds have been seen."""
        if self._tree is not None or not self._inputs:
            return
        self._rounds += bool(self._tasks)
        is_known = self._tasks.keys() == self._rows.keys() or self._rounds >= LONGEST_SEARCH * self._left
        if self._tasks and is_known and self._rounds >= self._left:
            _, self._tree = find_best_tree(self._inputs, TreeCosts(self._tasks, self._rows, self._inputs).join)
        self._tasks = {}

    @property
    def is_calm(self) -> bool:
        """Whether there is a tree."""
        return self._tree is not None or not self._inputs

    @property
    def insight(self) -> Insight:
        """The tree, and the route of each stream that has come."""
        told = sorted(self._told.items())
        notes = [self._note(origin, hop) for origin, route in told for hop in route if hop.operator in self._wholes]
        return Insight(decisions=[self._tell(origin, route) for origin, route in told], caches=notes)

    def _note(self, origin: str, hop: Hop) -> CacheNote:
        parts = (part for part in self._tree.climb(origin) if len(part) > 1) if self._tree is not None else ()
        inputs = next(sorted(part) for part in parts if whole_name(part) == hop.operator)
        return CacheNote(
            stream=origin,
            operator=hop.operator,
            cache=f"{', '.join(inputs)} (whole)",
            key=hop.pattern,
            route=tuple(probe_name(name) for name in inputs),
            state="used",
            benefit=0.0,
            cost=0.0,
            why=f"the tree {self._tree} has it",
        )

    def _tell(self, origin: str, route: Sequence[Hop]) -> Decision:
        names = tuple(hop.operator for hop in route)
        ways = (RouteCost(route=names, share=1.0, predicted=math.nan, observed=math.nan),)
        reason = "a tree that was told" if self._is_told else f"the best tree after {self._rounds} rounds"
        tree = (Branch(level=0, way=0),)
        return Decision(stream=origin, number=1, reason=f"{reason}: {self._tree}", seconds=0.0, ways=ways, tree=tree)

    def snapshot(self) -> State:
        """The tree, or how far the search is."""
        tree = None if self._tree is None else str(self._tree)
        told = {origin: [list(hop) for hop in route] for origin, route in self._told.items()}
        notes = write_notes(self.insight.caches)
        return {"tree": tree, "rounds": self._rounds, "rows": dict(self._rows), "told": told, "notes": notes}

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        self._tree = None if state["tree"] is None else read_tree(state["tree"], self._inputs)
        self._rounds, self._rows = state["rounds"], dict(state["rows"])
        self._told = {origin: tuple(Hop(*hop) for hop in route) for origin, route in state["told"].items()}
