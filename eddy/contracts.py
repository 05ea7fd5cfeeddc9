"""What a plug-in's author has to read: operators and policies; `operators.index.structures.contracts` has indexes.

For every task the router calls `Policy.plan` once; for every step of every leg `Operator.run` and `Policy.observe`,
which is told of profiles too. At the end of a round, a micro-batch or a part of one, it calls `Policy.learn` once.
Between micro-batches it may read `Policy.insight` and call `Policy.snapshot`; `restore` comes before the first `plan`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import NO_FEATURES, Features, Look, choose
from eddy.classes.divider import Attribute, Buckets
from eddy.classes.single_values import MOST_BUCKETS
from eddy.errors import EngineError, QueryError, check_whole, quote, refuse_to_make, unknown_name
from eddy.observe.insight import NO_INSIGHT, Branch, CacheNote, Decision, Insight, Regret, RouteCost, Use
from eddy.observe.prices import Price, Prices
from eddy.observe.statistics import NOTHING, Statistic, Statistics, fading
from eddy.sql import Column
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import FaultCodes, Floats, Hashes, Integers, KeyCodes, Mask, Numbers, RowIds, Valid
from eddy.tuples.event_time import Ticks
from eddy.tuples.lineage import Rule
from eddy.tuples.request import Request
from eddy.tuples.runs import Ranges, Runs, scan_all
from eddy.tuples.values import Held

__all__ = [
    "MOST_ALONG_PATH",
    "MOST_BUCKETS",
    "NOTHING",
    "NO_FEATURES",
    "NO_INSIGHT",
    "UNSEEN",
    "Attribute",
    "Branch",
    "Buckets",
    "CacheNote",
    "Chance",
    "Classes",
    "Clock",
    "Column",
    "Counts",
    "Decision",
    "EngineError",
    "FaultCodes",
    "Features",
    "Floats",
    "Hashes",
    "Hop",
    "Insight",
    "Integers",
    "KeyCodes",
    "Leg",
    "Lineage",
    "Look",
    "Mask",
    "Numbers",
    "Observation",
    "Operator",
    "Outcome",
    "Policy",
    "Price",
    "Prices",
    "QueryError",
    "Ranges",
    "Regret",
    "Request",
    "RouteCost",
    "RowIds",
    "Rule",
    "Runs",
    "Setting",
    "State",
    "Statistic",
    "Statistics",
    "Store",
    "Task",
    "Ticks",
    "Tuples",
    "Use",
    "Valid",
    "check_whole",
    "choose",
    "fading",
    "quote",
    "scan_all",
    "unknown_name",
]

Counts = np.ndarray[Any, np.dtype[np.bool_]] | np.ndarray[Any, np.dtype[np.int64]]
State = Mapping[str, Any]
Chance = Callable[[], np.random.Generator]
Clock = Callable[[], float]

UNSEEN = -1
"""Stands in a profile where a hop has not seen a tuple: no hop makes fewer than none of one."""

MOST_ALONG_PATH = 1 << 12
"""Joined tuples that are counted along a path for one tuple; there may be more. Whether it is dropped is known from the
first, and a fan-out of thousands is told from one of hundreds: what a hot key makes of a path need not be counted."""


class Outcome(NamedTuple):
    """What an operator made of some tuples.

    `counts` says for each tuple that was acted on how many came out: a filter's is its mask. `evaluated` says how
    much was looked at: for a filter the rows that it had not judged before, for a probe the rows that agree with its
    tuples in keys, windows and order, for `meets` the tuples and such rows. `skipped` are rows that a filter did not
    ask about, because of a null, `reused` those whose values it had answered before; `left` the positions of tuples
    that an option has refused, which go on without it. `keys()` are hashes of what a probe has searched by, tuple by
    tuple. `upkeep` are seconds that a cache has spent on rows that had come, whoever would have looked it up first.
    Tuples that come out carry the faults that they had, and those of what had no answer.
    """

    tuples: Tuples
    counts: Counts
    evaluated: int
    skipped: int = 0
    left: RowIds | None = None
    keys: Callable[[], Hashes] | None = None
    reused: int = 0
    upkeep: float = 0.0


class Operator(Protocol):
    """Something that can be done to tuples."""

    @property
    def name(self) -> str:
        """The name that policies and reports know it by; unique in the query."""

    @property
    def rule(self) -> Rule:
        """When it may act, for the table in `lineage`."""

    def pattern(self, lineage: Lineage) -> str:
        """What its outcome depends on besides the tuples: a probe's access pattern; "" for nothing."""

    def reads(self, lineage: Lineage) -> frozenset[str]:
        """The inputs that it reads of a tuple, besides the row that set the tuple off.

        Tuples that span different inputs are given to it together where it reads the same of all of them.
        """

    def run(self, tuples: Tuples) -> Outcome:
        """Act on the first tuples: on all of them, unless too many would come out at once.

        All were set off by rows of one stream; what else they have done may differ. They have the rows of the inputs
        that it reads, and their lineage is that of one of them: no other spans more. It is called again with the rest.
        Must act on one tuple at least, where there is one, and a filter on all of them; must not change the tuples it
        was given, must keep the order of the survivors, and must give each tuple the same fate in any company.
        """


class OutsideFilter(Protocol):
    """A filter that rows have passed outside of the engine, and that stored rows can be asked about."""

    @property
    def reads(self) -> pa.Schema:
        """The columns that it reads."""

    def ask(self, rows: pa.RecordBatch) -> Mask:
        """Tell which rows pass."""


class Others(NamedTuple):
    """Filters that are others than those in force when a snapshot was taken.

    What they have said is forgotten. Those that are `pushed` to Spark are asked about the rows at once. A query that
    `is_new` was not in the snapshot: it does not see the rows.
    """

    forgotten: frozenset[str] = frozenset()
    pushed: Sequence[OutsideFilter] = ()
    is_new: bool = False


NO_OTHERS = Others()


class Store(Protocol):
    """The rows of one input: a STeM, or the rows of a query that joins nothing."""

    def __len__(self) -> int:
        """How many rows are kept."""

    @property
    def nbytes(self) -> int:
        """What they occupy, indexes included; rows of several names are counted at the first."""

    @property
    def row_bytes(self) -> int:
        """The same without indexes."""

    def column(self, name: str) -> Held:
        """A column of the rows, now and in later micro-batches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What a policy knows of the query when it is built.

    `operators` are the names of all operators, in the order of the query. `columns` are the streams' columns that can
    classify their rows; a policy that wants to see some of them says so in its `features`. `reads` are those of them
    that the query reads anyway: to see others costs more. `sql_reads` has for each filter that is SQL the columns that
    it reads: to tell rows apart by those costs about as much as to ask it. `prices` has what steps take, `judged` the
    stream of each filter that is asked once about each of its rows. `make` builds another policy from its name, or its
    name and parameters; of those that are offered besides it takes what it has. `cells` is the number of cells that
    share the rows, each with a policy of its own. `clock` counts the seconds for which this thread was at work, to
    account for thinking and to limit it; without one, time stands still. `options` are the names of optional hops.
    """

    operators: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    reads: frozenset[Column] = frozenset()
    sql_reads: Mapping[str, frozenset[Column]] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    judged: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[str | Mapping[str, Any], Mapping[str, Any]], Policy] = refuse_to_make
    cells: int = 1
    clock: Clock = float
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Tuples of one lineage that wait for a decision.

    A policy never sees values or operators: only how many tuples there are, what has been learned of the hops and what
    they cost, which hops would be ready after a given route, and the classifier buckets of each tuple's arriving row: a
    matrix with a column for each of the stream's attributes among the policy's features. What is counted by buckets is
    good for one edition of them (`Look.editions`, `policies.shared.editions`). `independent` says that nothing but the
    ready hops is left to do, in any order. `chance()` is the micro-batch's generator.

    `options(route)` are hops that may come next after a route and need not: `meets_b` drops tuples that `probe_b` would
    drop, `cached_b_c` joins two inputs at once. They are never among the ready hops.
    """

    lineage: Lineage
    rows: int
    statistics: Statistics
    prices: Prices
    chance: Chance
    after: Callable[[Sequence[Hop]], tuple[Hop, ...]]
    independent: bool
    buckets: Look
    options: Callable[[Sequence[Hop]], tuple[Hop, ...]] = lambda _route: ()


class Classes(NamedTuple):
    """The classes that the tuples of a leg fall into, for reports.

    `attributes` are numbers of the stream's attributes; `sizes` has for each class its buckets, one for each of the
    attributes, and how many of the leg's tuples it has. The engine turns buckets into names.
    """

    attributes: Sequence[int]
    sizes: Sequence[tuple[Sequence[int], int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Leg:
    """A part of a task's tuples and the route they take.

    `rows` are positions in the task, or None for all of them. An exhaustive leg runs every hop of its route on every
    row, to learn; the hops must all be ready when it starts, or wait for earlier probes of the route: such a probe is
    told of as if it and those that it needs were one operator, whatever the filters and other probes say. Of one row no
    more than some thousand joined rows are counted then. It changes no answer. `classes` says which classes the policy
    told apart, and `label` what rows are called that have another reason to be here. `tag` is the policy's own: the leg
    comes back with it in every observation.

    `aside` has for each place of the route the hops that also see, to learn, the leg's tuples that are dropped at that
    place: such a hop must be ready for them before the step that drops them. It changes no answer either. The policy
    gets one profile of all legs with asides once their steps are over, with what hops have said of all their tuples.
    """

    route: tuple[Hop, ...]
    rows: RowIds | None = None
    exhaustive: bool = False
    classes: Classes | None = None
    label: str = ""
    tag: object = None
    aside: tuple[tuple[Hop, ...], ...] = ()


class Observation(NamedTuple):
    """What a step of some legs did, or a profile: what hops say of the same tuples.

    Legs whose next hop is the same take that step together, in parts where much comes out of a probe; `rows` says how
    many tuples each of the `legs` has in it, one leg's after the other's. `outcomes` has an array for each hop: how
    many tuples came out, tuple by tuple. A step has one hop. `buckets()` are those of the rows that came at `origin`,
    and `keys()` hashes of what the tuples of a probe's step were looked up by; None where that is nothing. `upkeep` are
    those of its seconds that a cache took to take note of rows that had come: whoever looks it up next is spared them.

    `is_profile` tells the two kinds of profiles from steps. That of an exhaustive leg is of this leg alone, and has all
    of its hops, each run on every tuple. That of the legs with asides of a task comes after their steps: it has the
    tuples with which each of them began, all hops of their routes and asides in the order in which they are first
    named, and `UNSEEN` where a hop has not seen a tuple. Its outcomes are about the tuple by itself. A hop that reads
    rows that were joined on the way says nothing about that, so it has not seen it; nor has a probe that was stopped,
    since it had looked at too many candidates aside. Its statistics are of the calls aside alone.
    """

    origin: str
    legs: tuple[Leg, ...]
    rows: tuple[int, ...]
    hops: tuple[Hop, ...]
    outcomes: Sequence[Counts]
    statistics: tuple[Statistic, ...]
    buckets: Look
    is_profile: bool = False
    keys: Callable[[], Hashes] | None = None
    upkeep: float = 0.0


class Policy(Protocol):
    """Who goes first.

    A policy derives from this class and is built as `Name(setting, parameter=value, ...)`. Its parameters are
    keyword-only, and it checks them, with errors for who wrote the config file. Only `plan` has to be written.
    """

    features: Features = NO_FEATURES
    """The attributes by which it tells rows apart."""

    def __init__(self, setting: Setting) -> None:
        return  # who needs nothing of the setting, and has no parameters, writes none

    @property
    def insight(self) -> Insight:
        """What it has done and why, for reports. Reading it must change nothing."""
        return NO_INSIGHT

    @abstractmethod
    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Split the task into legs.

        Every row must be in exactly one leg, and every route must start with a hop that is ready, or an option, and
        go on with hops that are ready, or options, by then. Chance comes from `task.chance()` and from nowhere else.
        """

    def observe(self, observation: Observation) -> None:
        """Take note of a step, or a profile; called once for each before the next `plan`, while it is listening."""
        return

    def learn(self) -> None:
        """Think about what was observed; called once at the end of every round of a micro-batch, and nowhere else."""
        return

    @property
    def is_listening(self) -> bool:
        """Whether it wants to know what the next step does; whoever does not is not told."""
        return type(self).observe is not Policy.observe

    @property
    def is_calm(self) -> bool:
        """Whether nothing would be gained by learning soon: then what is left of a micro-batch comes as one round."""
        return True

    @property
    def is_new(self) -> bool:
        """Whether nothing is known of the rows yet: the first round is small then, since its rows go any way."""
        return False

    @property
    def is_urgent(self) -> bool:
        """Whether rounds should be small however cheap rows are: a few would soon tell, or calls alone count."""
        return False

    @property
    def is_trying(self) -> bool | None:
        """Whether its rows pay for a trial of a cache just now, and say little of others; None where it has none."""
        return None

    def snapshot(self) -> State:
        """What must survive a restart, as plain values and numpy arrays; {} for nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Go on from a snapshot that the same policy with the same parameters took."""
        return
