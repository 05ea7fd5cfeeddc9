"""Content-based routing: each class of rows has its own order.

The policy is Content-Learns of the content-based routing paper, section 4: operators are profiled in turn on samples
(P, |R|); for each, the attribute with the highest gain ratio becomes its classifier (CA); running selectivities are
kept for each of its buckets (S, d, alpha) and for all rows (W); a tuple goes first where its own class is most likely
to be dropped; a new pair of operator and attribute stays only if it pays.

It does better in these points. Before anything is known all rows are samples, of all operators at once; once every
operator has been profiled twice and nothing changes, samples become rare. Gain that chance explains does not count
(`profile`). Steady selectivities go beside the quick ones, and cells with few tuples lean on the whole
(`selectivities`). Orders that promise nothing are not split off (`orders`). Costs count, and probes are routed like
filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eddy.classes.classifier import choose
from eddy.contracts import Leg, Observation, Policy, Setting, State, Task
from eddy.errors import QueryError, check_whole
from eddy.observe.insight import Insight
from eddy.policies.content.profile import Learning
from eddy.policies.content.stream_content import Conduct, StreamContent
from eddy.policies.shared.call_counts import Uses
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.merit import Costs
from eddy.tuples import Hop


class Content(Policy):
    """Learns which attribute foretells each operator's outcomes.

    `attributes` are those that may classify; all that can, when none are named. `d` is the number of buckets of each,
    as many as are of use where none is given; `P` is the share of rows that profile an operator, `R` the rows of one
    sample, `alpha` the memory of the quick selectivities by tuple, `threshold` the gain ratio that a classifier must
    exceed. With `profile` it learns whatever that takes, also of a single operator, whose classifiers can change
    nothing but the report.

    >>> Content(Setting(operators=("cheap", "dear")), d=8).features.buckets
    8
    """

    def __init__(  # noqa: PLR0913  what a config file may say, all by keyword
        self,
        setting: Setting,
        *,
        attributes: Sequence[str] | None = None,
        d: int | None = None,
        P: float = 0.06,  # noqa: N803  the paper's name
        R: int = 150,  # noqa: N803  the paper's name
        alpha: float = 0.95,
        threshold: float = 0.001,
        costs: Costs = "time",
        profile: bool = False,
    ) -> None:
        where = 'policy "content"'
        check_costs(costs, where=where)
        check_share(P, "P", where=where)
        check_share(alpha, "alpha", where=where)
        check_whole(R, "R", where=where)
        if not isinstance(threshold, int | float) or not 0 <= threshold < 1:
            raise QueryError(f"{where}: threshold: expected a gain ratio from 0 to below 1, got {threshold!r}")
        if not isinstance(profile, bool):
            raise QueryError(f"{where}: profile: expected true or false, got {profile!r}")
        self.features = choose(attributes, setting.columns, d, where=where)
        self._uses = Uses(self.features)
        self._conduct = Conduct(
            learning=Learning(cells=self.features.buckets + 1, alpha=alpha, threshold=threshold, sample=R),
            share=P,
            costs=costs,
            prices=setting.prices,
            # Where only calls count, or learning is asked for, the time that it takes does not: no clock is asked.
            clock=setting.clock if costs == "time" and not profile else float,
            profile=profile,
            uses=self._uses,
        )
        # Where only calls count, a call of SQL counts as much as any other.
        self._sql_reads = setting.sql_reads if costs == "time" else {}
        self._is_idle = len(setting.operators) == 1 and not profile
        self._streams: dict[str, StreamContent] = {}

    @property
    def insight(self) -> Insight:
        """How each operator is classified, and with what gain.

        Its calls are counted by the attribute that they went by.
        """
        gains: dict[str, float] = {}
        for stream in self._streams.values():
            for hop, profile in zip(stream.known.hops, stream.known.profiles, strict=True):
                gains[hop.operator] = max(profile.gain, gains.get(hop.operator, 0.0))
        return Insight(uses=self._uses.list_uses(gains))

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Plan samples first, then the best route of each class."""
        if self._is_idle:
            return [Leg(route=ready)]
        return self._stream(task.lineage.origin).route(task, ready)

    def observe(self, observation: Observation) -> None:
        """Keep what a step did until the round is over."""
        self._stream(observation.origin).observe(observation)

    @property
    def is_listening(self) -> bool:
        """Whether there is something to learn."""
        return not self._is_idle

    def learn(self) -> None:
        """Learn from the round that is over."""
        for stream in self._streams.values():
            stream.learn()

    def _stream(self, origin: str) -> StreamContent:
        found = self._streams.get(origin)
        if found is None:
            columns = [attribute.column for attribute in self.features.of(origin)]
            own = {name: [columns.index(c) for c in read if c in columns] for name, read in self._sql_reads.items()}
            found = self._streams[origin] = StreamContent(len(columns), own, self._conduct)
        return found

    @property
    def is_calm(self) -> bool:
        """Whether all is known of every stream or given up, and nothing changes."""
        return self._is_idle or (bool(self._streams) and all(stream.is_calm for stream in self._streams.values()))

    @property
    def is_urgent(self) -> bool:
        """Whether calls alone count."""
        return self._conduct.costs == "unit"

    def snapshot(self) -> State:
        """The knowledge of each stream, and the counts."""
        state: dict[str, Any] = {"known": {}, "uses": self._uses.snapshot()}
        for number, (origin, stream) in enumerate(self._streams.items()):
            state["known"][origin], arrays = stream.snapshot()
            state |= {f"{number} {name}": array for name, array in arrays.items()}
        return state

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        self._uses.restore(state["uses"])
        for number, (origin, plain) in enumerate(state["known"].items()):
            first = f"{number} "
            arrays = {name.removeprefix(first): array for name, array in state.items() if name.startswith(first)}
            self._stream(origin).restore(plain, arrays)
