"""The policy `auto`: nobody has to choose, and it cannot cost much.

Every stream goes in the written order until another policy, an arm, has shown that it is cheaper: on a sample through
all operators first, then in a duel with the one in charge, on rows of the same rounds or on rounds in turns. What all
that costs is held to a share of what the written order would have cost (`regret`), and one row in a hundred goes on in
the written order, so that an arm that has become dearer is noticed.

The idea of a budget for trying is ours; `StreaMon` (chapter 3 of the thesis) has the profiler and the re-optimiser that
are paid from it, and section 4.1 of the content-based routing paper a test of benefit for each classifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.classes.classifier import choose
from eddy.contracts import Leg, Observation, Policy, Setting, State, Task
from eddy.errors import QueryError, quote
from eddy.observe.insight import Decision, Insight, Use
from eddy.policies.auto import saved
from eddy.policies.auto.arms import Arm, join_features
from eddy.policies.auto.conduct import Conduct
from eddy.policies.auto.course import Course
from eddy.policies.auto.told import ask_champion, tell_regret
from eddy.policies.caching.joined import Caching
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.merit import Costs
from eddy.query.join_graph import is_cached
from eddy.tuples import Hop

WHERE = 'policy "auto"'

LEAST_MILLISECONDS, MOST_MILLISECONDS = 10, 200
"""The bounds of the time that an arm may search in at once; between them, a part of what the account has left."""

SEARCHED_PART = 0.25
"""The part of what the account has left that an arm may search for at once."""


ARMS: Sequence[str | Mapping[str, Any]] = (
    "source",
    "content",
    "query_mesh",
    {"name": "a_caching", "order": "fixed"},
)
"""Who may show that it is cheaper, where nobody is named; whoever places caches, where some may be placed."""


class Auto(Policy):
    """Routes in the written order until another policy has shown that it is cheaper, everything counted.

    `arms` are those that may show it, by name, or by name and parameters. `regret` is the share of the written order's
    cost that may be spent on finding out, `control` the share of rows that go on in the written order; both are above
    0, and whoever wants nothing to be tried names the policy `fixed`. `attributes` may classify; where none are named,
    those that the query reads anyway. `d` is the number of buckets of each, as many as are of use where none is given.

    >>> from eddy.policies.fixed import Fixed
    >>> setting = Setting(operators=("cheap", "dear"), make=lambda choice, offered: Fixed(setting))
    >>> Auto(setting, arms=[]).is_calm
    True
    """

    def __init__(
        self,
        setting: Setting,
        *,
        arms: Sequence[str | Mapping[str, Any]] = ARMS,
        regret: float = 0.02,
        control: float = 0.01,
        attributes: Sequence[str] | None = None,
        d: int | None = None,
        costs: Costs = "time",
    ) -> None:
        check_costs(costs, where=WHERE)
        check_share(regret, "regret", where=WHERE)
        check_share(control, "control", where=WHERE)
        self._choices = _check_arms(_leave_out(arms, setting.options), WHERE)
        read = [column for column in setting.columns if column in setting.reads]
        own = choose(attributes, read if attributes is None else setting.columns, d, where=WHERE)
        self._offered = {"attributes": [str(a.column) for a in own.attributes], "d": d, "costs": costs}
        self._setting = setting
        made = [(name, _make_arm(setting, choice, self._offered, WHERE)) for name, choice in self._choices.items()]
        features = [(name, policy.features) for name, policy in made]
        self.features = join_features(features, own)
        self._conduct = Conduct(
            written=setting.make("fixed", {}),
            arms={name: bool(one.attributes) for name, one in features},
            build=self._build,
            prices=setting.prices,
            clock=setting.clock,
            accounts=[],
            regret=regret,
            control=control,
            unit=costs == "unit",
            cells=setting.cells,
            judged=setting.judged,
            caching=Caching([name for name, one in made if one.is_trying is not None], setting.options),
            features=self.features,
        )
        self._alone = len(setting.operators) < 2 or not features
        self._courses: dict[str, Course] = {}
        self._is_active = False

    def _build(self, name: str, stream: str, left: float) -> Arm:
        """Build an arm for a stream; it may search for a part of what the account has left."""
        limit = min(max(SEARCHED_PART * left * 1_000, LEAST_MILLISECONDS), MOST_MILLISECONDS)
        policy = self._setting.make(self._choices[name], {**self._offered, "budget_ms": limit})
        return Arm(name, policy, self.features, stream, left)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """The legs of the lanes that the task's rows are dealt out to."""
        if self._alone:
            return self._conduct.written.plan(task, ready)
        course = self._courses.get(task.lineage.origin)
        if course is None:
            course = self._courses[task.lineage.origin] = Course(task.lineage.origin, self._conduct)
        legs = course.split(task, ready)
        self._is_active = self._is_active or not course.is_idle
        return legs

    def observe(self, observation: Observation) -> None:
        """Charge the step; of a stream that is idle nobody asks what it cost."""
        course = self._courses[observation.origin]
        if not course.is_idle:
            course.observe(observation)
        if self._conduct.judged:
            self._note_questions(course, observation)

    @property
    def is_listening(self) -> bool:
        """Whether some stream is not idle: then what idle ones ask about its rows counts too."""
        return self._is_active

    def _note_questions(self, asking: Course, observation: Observation) -> None:
        """Note what a step has asked about rows of other streams, and what idle rows need not ask."""
        judged = self._conduct.judged
        owners = {judged[hop.operator] for hop in observation.hops if hop.operator in judged}
        for owner in (owners & self._courses.keys()) - {asking.stream}:
            self._courses[owner].ledger.charges.arrears.note_asked(observation, by=asking.champion)
        if asking.is_idle and owners:
            asking.ledger.charges.arrears.note_idle(observation)

    def learn(self) -> None:
        """End a round on every stream."""
        courses = self._courses.values()
        self._is_active = False
        for course in courses:
            course.learn()
        if self._conduct.judged:
            self._guard_all()
            self._let_one_challenge()
        self._is_active = any(not course.is_idle for course in courses)

    def _guard_all(self) -> None:
        """Let all arms in charge go if they lose more together than they save."""
        in_charge = [course for course in self._courses.values() if course.champion is not None]
        if not in_charge:
            self._conduct.whole.forget(self._conduct.accounts)
            return
        self._conduct.whole.count(self._conduct.accounts)
        if self._conduct.whole.fails:
            for course in in_charge:
                course.give_up()
            self._conduct.whole.forget(self._conduct.accounts)

    def _let_one_challenge(self) -> None:
        """Let a duel begin where most is at stake, unless one is under way.

        Verdicts are shared by all streams: what one does changes what others cost, so one is in a duel at a time.
        """
        courses = self._courses.values()
        wanting = [(course.next_challenge.stake, course) for course in courses if course.next_challenge is not None]
        if wanting and not any(course.duel for course in courses):
            max(wanting, key=lambda one: one[0])[1].challenge()

    @property
    def is_calm(self) -> bool:
        """Whether no stream is learning anything just now."""
        return self._alone or (bool(self._courses) and all(course.is_calm for course in self._courses.values()))

    @property
    def is_urgent(self) -> bool:
        """Whether an arm in charge wants small rounds, or calls alone count."""
        champions = [course.champion for course in self._courses.values()]
        return self._conduct.unit or any(one is not None and one.policy.is_urgent for one in champions)

    @property
    def insight(self) -> Insight:
        """What it has decided, what that has cost and saved, and what the arms in charge tell."""
        courses = self._courses.values()
        regrets = [tell_regret(course) for course in courses]
        decisions: list[Decision] = []
        uses: list[Use] = []
        for course in courses:
            decisions += course.decisions
            if course.champion is not None:
                told = ask_champion(course.champion, course.stream)
                uses += told.uses
                decisions += told.decisions
        return Insight(uses=uses, decisions=decisions, regrets=regrets)

    def snapshot(self) -> State:
        """Every stream's course, and what its arms have learned."""
        state: dict[str, Any] = {"made for": self._made_for(), "streams": {}, "whole": self._conduct.whole.snapshot()}
        for number, (stream, course) in enumerate(self._courses.items()):
            state["streams"][stream], arrays = saved.save(course)
            state |= {f"{number} {name}": array for name, array in arrays.items()}
        return state

    def restore(self, state: State) -> None:
        """Go on from a snapshot; what was learned for other operators, arms or attributes is dropped."""
        for number, (stream, plain) in enumerate(state["streams"].items()):
            course = self._courses[stream] = Course(stream, self._conduct)
            if state["made for"] != self._made_for():
                course.decide("what was restored is for other operators, arms or attributes, and begins anew")
                continue
            first = f"{number} "
            arrays = {name.removeprefix(first): value for name, value in state.items() if name.startswith(first)}
            saved.restore(course, plain, arrays)
        if state["made for"] == self._made_for():
            self._conduct.whole.restore(state["whole"])
        self._is_active = any(not course.is_idle for course in self._courses.values())

    def _made_for(self) -> list[Any]:
        """What a snapshot is valid for."""
        attributes = [str(attribute.column) for attribute in self.features.attributes]
        return [list(self._setting.operators), list(self._choices), attributes, self.features.buckets]


def _leave_out(arms: Sequence[str | Mapping[str, Any]], options: Sequence[str]) -> Sequence[str | Mapping[str, Any]]:
    """Leave the last arm out where nobody named any and the query has no two probes in a row: it places caches."""
    return arms if arms is not ARMS or any(map(is_cached, options)) else ARMS[:-1]


def _check_arms(arms: object, where: str) -> dict[str, str | Mapping[str, Any]]:
    """Read the arms that a user named."""
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise QueryError(f'{where}: arms: expected a list of policies, as ["source", "content"], got {arms!r}')
    found: dict[str, str | Mapping[str, Any]] = {}
    for choice in arms:
        name = choice.get("name") if isinstance(choice, Mapping) else choice
        if not isinstance(name, str):
            raise QueryError(
                f'{where}: arms: expected policies, by name or as {{"name": ..., parameter: value}}, got {choice!r}'
            )
        if name == "auto":
            raise QueryError(
                f'{where}: arms: "auto" cannot be an arm of itself; name the policies that it may choose from'
            )
        if name in found:
            raise QueryError(f"{where}: arms: {quote([name])} is named twice; name each policy once")
        found[name] = choice
    return found


def _make_arm(setting: Setting, choice: str | Mapping[str, Any], offered: Mapping[str, Any], where: str) -> Policy:
    """Build an arm for the first time; what is wrong with it is wrong in a list that a user wrote."""
    try:
        return setting.make(choice, offered)
    except QueryError as error:
        raise QueryError(f"{where}: arms: {error}") from error
