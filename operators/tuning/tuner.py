"""Chooses the key maps of one input: counts, selects, switches where that pays, and looks whether it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from eddy.observe.indexing import Tuning
from eddy.operators.index.counts import IndexCounts
from eddy.operators.index.price import CANDIDATE, SORTED_ROW
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.assess.registry import ASSESSMENTS
from eddy.operators.tuning.contracts import REST, Assessment
from eddy.operators.tuning.cost import COSTS, price_maps
from eddy.operators.tuning.learned import Learned, Rival
from eddy.operators.tuning.migrator import Migrator, Searched, has_maps
from eddy.operators.tuning.observed import Observed, TunedCatalog, TunedPart
from eddy.operators.tuning.select.registry import SELECTIONS
from eddy.operators.tuning.settings import INDEX_GROUP, IndexSettings
from eddy.operators.tuning.trial import FAR_WORSE, MEASURED, WORSE, Trial
from eddy.operators.tuning.workload import Workload
from eddy.plug_ins import PlugIns

MARGIN = 0.2
"""Share of the work of a row's life, or of a period if that is longer, that other maps must have saved, by their price,
before they are put in force. So long it takes until all rows have them, and what has not lasted will not: searches that
go to and fro leave them behind again before that. It doubles with every switch that was taken back, since prices are
wrong here then, or searches turn."""

MARGIN_TOLD = 0.1
"""Share of the work of a period that other maps must save, for searches that are known to come."""

MEMORY = 8
"""Lives of a row after which half of what was known of other maps is forgotten, and of what was learned by switches
that were taken back: a turn of the searches is as long as a window or two, and what comes after several may be for
good."""

MOST_FILLING = 16
"""Micro-batches after which maps are chosen in any case, of rows that never go."""

SPLIT = 2.0
"""Parts more that a search looks into after a switch: with windows of 40,000 rows and two switches of one input, of
2.4 parts there were 4.9. Those of few rows that came since merge only among themselves."""

FIRST_SEARCHES = 4_096
"""Searches after which maps are chosen for the first time, or a period, if that is less."""

LEAST_MEASURED = 4_096
"""Searches by which a switch is judged at least."""

LEAST_BATCHES = 4
"""Micro-batches for the same: how much of an open part is put in order again differs from one to the next."""

MOST_WAIT = 64
"""By how many times at most the wait after a switch that was taken back grows, and what the next one must save."""

MOST_CORRECTIONS = 512
"""Sets of keys, with a pattern each, of which it is remembered what was found of what was predicted."""

TAKEN_BACK = "taken back"

FORCED = "as the kind asks for"
"""Why maps are chosen the first time, whatever they save, of a kind that may not leave the catalog alone."""


class Race(NamedTuple):
    """What the maps in force take in a micro-batch, and the share of it that each of their rivals would save."""

    work: float
    gains: Mapping[tuple[KeyMap, ...], float]


class Tuner:
    """Ties assessment, selection and migration together, for one input."""

    def __init__(self, name: str, catalog: TunedCatalog, settings: IndexSettings, seed: int) -> None:
        self.name = name
        self.learned = Learned()
        self.trial: Trial | None = None
        self.observed = Observed()
        self.told: list[Tuning] = []
        self._catalog = catalog
        self._settings = settings
        self._does = settings.does
        self._seed = seed
        self._prices = COSTS[settings.cost or settings.does.cost]
        self._selection = PlugIns(SELECTIONS, group=INDEX_GROUP, kind="index")[settings.kind](settings)
        self._migrator = Migrator(catalog, settings.migrate)
        self.assessment = self.assess_anew()

    @property
    def is_new(self) -> bool:
        """No maps were chosen yet, and there are searches enough to."""
        again = self._does.chooses_again
        first = min(self._settings.period, FIRST_SEARCHES) if again else self._settings.training
        enough = self.observed.searches >= first and self.observed.batches >= LEAST_BATCHES
        return enough and not self.learned.looks and self._may_choose()

    def assess_anew(self) -> Assessment:
        """Make an assessment that has counted nothing, with chance of its own: that of when it began."""
        began = self.learned.batches - self.observed.batches
        return ASSESSMENTS[self._settings.assess](
            epsilon=self._settings.epsilon, theta=self._settings.theta, seed=self._seed + began
        )

    def note(self, counts: IndexCounts) -> int:
        """Take note of a micro-batch, and give its searches."""
        self.learned.batches += 1
        self.learned.arrived += counts.arrived
        self.learned.calm += 1
        stored = self._catalog.stored
        self.observed.add(counts, stored)
        self.learned.work += count_work(counts)
        searches = 0
        for pattern, probes in counts.patterns.items():
            self.assessment.add(pattern, probes)
            searches += probes if pattern != REST else 0
        self.learned.searches += searches
        if self.learned.maps is not None:
            # Where no rows come, as in a table, searches pay for those that are put in order again.
            came, searched = counts.arrived or searches, Searched(self.observed, self.learned.corrected, self._life())
            migrated = self._migrator.migrate(self.learned.maps, came, searched, is_still=not counts.arrived)
            if self.trial is not None:
                self.trial.migrated += migrated
        if self.trial is not None:
            self._follow(self.trial, counts, stored)
        return searches

    def go_on(self, learned: Learned, observed: Observed, trial: Trial | None, assessed: Mapping[str, Any]) -> None:
        """Go on from what another one has learned."""
        self.learned, self.observed, self.trial = learned, observed, trial
        self.assessment = self.assess_anew()
        self.assessment.restore(assessed)

    def apply(self) -> None:
        """Tell the catalog of maps that were chosen before a restart; no index was stored, so no part has others."""
        if self.learned.maps is not None:
            self._catalog.use(self.learned.maps)
            for part in self._catalog.parts:
                self._catalog.migrate(part.number, self.learned.maps)

    def tune(self, why: str, coming: Mapping[int, float] | None = None) -> None:
        """Choose maps by what was counted, or by what is to come, and begin to count anew."""
        is_paid = not self._does.is_thrifty or self.learned.pays_a_look(self.assessment.tracked)
        if not (is_paid and self._may_choose()):
            return
        counted = coming if coming is not None else self.assessment.counts()
        searches: Mapping[int, float] = {p: float(times) for p, times in counted.items() if p != REST and times}
        if searches and self._catalog.stored:
            self._look(why, searches)
        self.observed = Observed()
        self.assessment = self.assess_anew()

    def _may_choose(self) -> bool:
        """Tell whether there is anything to choose, and prices say something.

        Nothing is cheaper than chains, which a row joins once. What is cheap in a window that fills is not what is,
        once rows go.
        """
        if not self._does.is_free:
            return True
        is_full = self.learned.arrived > self._catalog.stored or self.learned.batches >= MOST_FILLING
        return is_full and not self._catalog.has_chains

    def _look(self, why: str, searches: Mapping[int, float]) -> None:
        """Look for cheaper maps if that is due, and hold those that were found before against those in force."""
        learned, parts = self.learned, self._catalog.parts
        is_due = learned.begin_look(searches, self._catalog.stored, is_tried=self.trial is not None)
        if not (is_due or learned.rivals):
            return
        workload = self._describe(parts)
        asked = self._expect(searches, workload, parts)
        before = tuple(one for one in self._catalog.maps if one.fields)
        if is_due:
            proposed = tuple(self._selection.select(asked))
            if learned.maps is None and not self._does.is_free:
                # Whoever asks for this kind does not ask whether another is better: nothing is promised, or tried.
                trial = self._switch(f"{why}, {FORCED}", before, proposed, 0.0, workload)
                self._tell(trial, None, is_forced=True)
                return
            if set(proposed) != set(before):
                learned.meet(proposed)
        race = self._race(before, asked)
        # A switch is looked at first: what comes of it says more than another guess.
        best = self._find_best(race) if is_due or self.trial is None else None
        if best is not None:
            self.trial = self._switch(why, before, best.maps, race.gains[best.maps], workload)
            self._tell(self.trial, None)
        elif self._does.is_thrifty and is_due and all(gain <= 0 for gain in race.gains.values()):
            learned.look_later(self._settings.period)

    def _describe(self, parts: Sequence[TunedPart]) -> Workload:
        """Describe what was observed, after it was held against what was predicted."""
        learned = self.learned
        workload = self.observed.describe(parts, self._catalog, learned.corrected, self._catalog.room)
        learned.corrected.update(self.observed.correct(workload))
        for known in list(learned.corrected)[:-MOST_CORRECTIONS]:
            del learned.corrected[known]
        return workload

    def _expect(self, searches: Mapping[int, float], workload: Workload, parts: Sequence[TunedPart]) -> Workload:
        """Expect some searches.

        What is to come is searched in the rows that there are now; if it is more than what was counted, so many more
        rows come with it.
        """
        more = sum(searches.values()) / max(self.observed.searches, 1)
        grown = sum(part.rows for part in parts) * self.observed.batches / max(self.observed.stored, 1)
        return replace(
            workload,
            searches=searches,
            arrived=workload.arrived * more,
            calls=workload.calls * more,
            stored=workload.stored * grown,
        )

    def _race(self, before: tuple[KeyMap, ...], asked: Workload) -> Race:
        """Hold the rivals against the maps in force by these searches."""
        batches, calls, split = self.observed.batches, self._price_calls(asked), self._price_split(asked)
        now = calls + price_maps(before, asked, self._prices)
        kept = 0.5 ** (batches / (MEMORY * max(self._life(), 1.0)))
        gains = {}
        for rival in self.learned.rivals:
            saved = now - (calls + price_maps(rival.maps, asked, self._prices) + split)
            rival.ahead = rival.ahead * kept + saved
            gains[rival.maps] = saved / now if now > 0 else 0.0
        return Race(now / max(batches, 1), gains)

    def _find_best(self, race: Race) -> Rival | None:
        """Find the rival that is far enough ahead, and saves more than a switch costs."""
        learned, life = self.learned, self._life()
        if learned.calm > MEMORY * life:
            learned.wait, learned.calm = max(learned.wait // 2, 1), 0
        # What is to come is no guess, so it need not have lasted.
        lasting = (
            MARGIN_TOLD * self.observed.batches if self._does.is_told else MARGIN * max(life, self.observed.batches)
        )
        least = lasting * learned.wait * race.work
        best = max(learned.rivals, key=lambda one: one.ahead, default=None)
        if best is None or best.ahead <= least or learned.searches < learned.quiet or race.gains[best.maps] <= 0:
            return None
        return best if race.gains[best.maps] * race.work * life > self._work(best.maps) else None

    def _switch(
        self, why: str, before: tuple[KeyMap, ...], after: tuple[KeyMap, ...], gain: float, workload: Workload
    ) -> Trial:
        learned = self.learned
        self._catalog.use(after)
        learned.put(after)
        learned.idle = 0
        done = self.observed.price(MEASURED, workload)
        modelled = price_maps(before, replace(workload, corrected={}), MEASURED)
        self._migrator.begin()
        return Trial(
            number=learned.number,
            why=why,
            before=before,
            after=after,
            predicted=gain,
            patterns=self.assessment.tracked,
            ratio=done / modelled if done > 0 and modelled > 0 else 1.0,
            left=self._catalog.stored,
        )

    def _follow(self, trial: Trial, counts: IndexCounts, stored: int) -> None:
        """Hold a switch against what it was to bring, once most rows have the new maps."""
        trial.observed.add(counts, stored)
        is_whole = trial.left <= 0
        if not is_whole:
            trial.left -= counts.arrived
            if trial.left <= 0 or all(has_maps(part, trial.after) for part in self._catalog.parts):
                trial.left, trial.observed = 0, Observed()
                return
        measured = trial.observed
        if measured.searches < LEAST_MEASURED or measured.batches % LEAST_BATCHES:
            return
        workload = measured.describe(self._catalog.parts, self._catalog, {})
        saved = trial.saved(workload)
        # Before that, only whether it is far too dear.
        if is_whole or saved < -FAR_WORSE:
            self._tell(trial, saved)
            self.trial = None
            self.learned.corrected.update(measured.correct(workload))
            if saved < -WORSE:
                self._take_back(trial, saved, workload)

    def _take_back(self, trial: Trial, saved: float, workload: Workload) -> None:
        """Go back to the maps before, and stay there for a time that doubles; others have to make up for the loss."""
        learned = self.learned
        self._catalog.use(trial.before)
        learned.put(trial.before)
        learned.lose(trial.after, price_maps(trial.after, workload, self._prices) * (1 - 1 / (1 - saved)))
        learned.quiet = learned.searches + learned.wait * self._settings.period
        learned.wait, learned.calm = min(2 * learned.wait, MOST_WAIT), 0
        self._migrator.begin()
        self._tell(
            replace(
                trial,
                number=learned.number,
                why=TAKEN_BACK,
                before=trial.after,
                after=trial.before,
                predicted=-saved / (1 - saved),
                migrated=0,
            ),
            None,
        )

    def _life(self) -> float:
        """Give the micro-batches that a row stays; if none has gone yet, as many as there have been."""
        rows = self._catalog.stored
        if self.learned.arrived <= rows or not self.observed.arrived:
            return float(self.learned.batches)
        return rows * self.observed.batches / self.observed.arrived

    def _price_split(self, workload: Workload) -> float:
        """Price what a switch costs in searches: parts of other maps are not merged, so there is one more to look into.

        It goes with the rows that have the maps before; if all get others at once, there is none.
        """
        if not self._settings.merge or self._settings.migrate == "all" or self._does.is_told:
            return 0.0
        looks = self._prices.lookup * sum(workload.searches.values())
        return SPLIT * (looks + self._price_calls(workload) / workload.parts)

    def _price_calls(self, workload: Workload) -> float:
        """Price what looks into parts take whatever the maps, and however few tuples go at once."""
        return self._prices.call * workload.calls

    def _work(self, maps: Sequence[KeyMap]) -> float:
        """Price what a switch itself costs: only where all parts are migrated is that known, and much."""
        rows = self._catalog.stored if self._settings.migrate == "all" else 0
        return self._prices.sort * rows * len(maps)

    def _tell(self, trial: Trial, observed: float | None, *, is_forced: bool = False) -> None:
        names = self._catalog.names
        self.told.append(
            Tuning(
                input=self.name,
                why=trial.why,
                before=tuple(one.describe(names) for one in trial.before),
                after=tuple(one.describe(names) for one in trial.after),
                predicted=None if is_forced else trial.predicted,
                observed=observed,
                migrated=trial.migrated,
                patterns=trial.patterns,
                number=trial.number,
            )
        )


def count_work(counts: IndexCounts) -> int:
    """Price what was done, in looks of a tuple into a part."""
    found = sum(done.lookups + CANDIDATE * done.candidates for done in counts.served.values())
    return int(found + SORTED_ROW * sum(counts.sorted_rows.values()))
