"""Bugs that somebody could have put in, each as a change of one place, and the tests that must notice it.

Where the code has moved on, a bug's `old` text is not there any more, or twice: then write the same slip down for the
code as it is now.
"""

from __future__ import annotations

from dataclasses import dataclass

ENGINE = "tests/eddy/test_engine.py"
SNAPSHOT = "tests/eddy/test_snapshot.py"
JOINS = "tests/eddy/test_joins.py::test_any_routing_gives_the_naive_answer"
STOPPED = "tests/eddy/test_joins.py::test_a_run_that_is_stopped_everywhere_goes_on_as_it_was"
FILTERS = "tests/eddy/test_same_answer.py"
VERDICTS = "tests/eddy/test_verdicts.py"
ROUTER = "tests/eddy/test_router.py"
REGRET = "tests/eddy/test_regret.py"
LAYOUT = "tests/eddy/spark/test_layout.py"
AUTO = "tests/policies/auto"


@dataclass(frozen=True, kw_only=True)
class Bug:
    """One slip: in `file`, `old` becomes `new`; `tests` are what pytest is given to find it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


BUGS = (
    Bug(
        name="the edge of an arriving row's window is outside",
        file="operators/probe.py",
        old="mask &= age(latest.take(at), target) <= own",
        new="mask &= age(latest.take(at), target) < own",
        tests=(VERDICTS,),
    ),
    Bug(
        name="the edge of a stored row's window is outside",
        file="operators/probe.py",
        old="mask &= age(target, times.take(at)) <= span",
        new="mask &= age(target, times.take(at)) < span",
        tests=(VERDICTS,),
    ),
    Bug(
        name="a segment is let go of one tick too early",
        file="operators/stem.py",
        old="return bool(watermark - segment.newest > self.window.ticks)",
        new="return bool(watermark - segment.newest >= self.window.ticks)",
        tests=(ENGINE, JOINS, "-k", "engine or fixed"),
    ),
    Bug(
        name="a window of rows has one row less",
        file="operators/stem.py",
        old="mask &= self.ranks.take(rows) >= before + ",
        new="mask &= self.ranks.take(rows) > before + ",
        tests=(SNAPSHOT,),
    ),
    Bug(
        name="the bound of the sequence is forgotten",
        file="operators/stem.py",
        old="mask: Mask = rows < before",
        new="mask: Mask = rows < len(self) + 0 * before",
        tests=(ENGINE, JOINS, "-k", "engine or fixed"),
    ),
    Bug(
        name="a row meets itself where a stream is joined with its twin",
        file="operators/stem.py",
        old="return np.searchsorted(self._arrivals, arrivals) + self.fresh",
        new='return np.searchsorted(self._arrivals, arrivals + 1, side="right") + self.fresh',
        tests=(ENGINE, JOINS, "-k", "engine or fixed"),
    ),
    Bug(
        name="a segment whose newest row is just inside the window is left out",
        file="operators/index/segments.py",
        old="first = np.searchsorted(newest, np.maximum(",
        new="first = np.searchsorted(newest, 1 + np.maximum(",
        tests=("tests/operators/index",),
    ),
    Bug(
        name="a verdict is lost",
        file="operators/stem.py",
        old="verdicts = np.where(judged.passed, np.uint8(PASS), np.uint8(FAIL))",
        new="verdicts = np.where(judged.passed, np.uint8(PASS), np.uint8(UNKNOWN))",
        tests=("tests/operators", ENGINE, SNAPSHOT),
    ),
    Bug(
        name="a verdict is lost in a restart",
        file="operators/stem.py",
        old='held.put(np.arange(len(self)), rows.column(f"verdict {name}").to_numpy())',
        new='held.put(np.arange(len(self)), 0 * rows.column(f"verdict {name}").to_numpy())',
        tests=(SNAPSHOT,),
    ),
    Bug(
        name="a filter lets pass whatever it has judged before",
        file="operators/stem.py",
        old="return Judged(verdicts == PASS, None)",
        new="return Judged(verdicts != UNKNOWN, None)",
        tests=(VERDICTS,),
    ),
    Bug(
        name="null joins null",
        file="operators/probe.py",
        old="ranges.counts[~np.logical_and.reduce(valid)] = 0",
        new="ranges.counts[np.zeros(len(ranges.counts), np.bool_)] = 0",
        tests=(VERDICTS,),
    ),
    Bug(
        name="a row at the watermark is late",
        file="eddy/engine/admission.py",
        old="late = present & (ticks < mark.watermark)",
        new="late = present & (ticks <= mark.watermark)",
        tests=(ENGINE,),
    ),
    Bug(
        name="the watermark is that of the fastest stream",
        file="eddy/engine/admission.py",
        old="return Mark(min(marks) if len(marks) == len(streams) else None)",
        new="return Mark(max(marks) if len(marks) == len(streams) else None)",
        tests=(ENGINE,),
    ),
    Bug(
        name="an engine begins to count anew after a restart",
        file="eddy/engine/engine.py",
        old='self._batch = meta["batch"]',
        new="self._batch = 0",
        tests=(STOPPED,),
    ),
    Bug(
        name="damage of the state is not noticed",
        file="eddy/engine/snapshot.py",
        old="intact = checksum == _checksum(written, snapshot.blob)",
        new="intact = bool(checksum)",
        tests=("tests/eddy/test_damaged.py", "-k", "every_bit"),
    ),
    Bug(
        name="a wrong cell: a row's copies go to one place",
        file="eddy/spark/layout/placement.py",
        old="self._offsets = _add_each(self._offsets, np.arange(share) * stride)",
        new="self._offsets = _add_each(self._offsets, np.zeros(share, np.int64) * stride)",
        tests=(LAYOUT,),
    ),
    Bug(
        name="a wrong cell: the place of a row depends on its stream",
        file="eddy/spark/layout/placement.py",
        old="hashes: Hashes | int = salt",
        new="hashes: Hashes | int = salt + len(self._stream + str(self._batch.schema.names)) * ord(self._stream[0])",
        tests=(LAYOUT,),
    ),
    Bug(
        name="the two zeros are two keys",
        file="eddy/tuples/codes.py",
        old="fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0",
        new="fill_null(0.0).to_numpy(zero_copy_only=False)",
        tests=("tests/eddy/test_codes.py",),
    ),
    Bug(
        name="not of null is true",
        file="eddy/sql/kernels/logic.py",
        old='return apply(pc.invert, (_condition(args[0], session, "NOT"),), types.BOOLEAN)',
        new='return apply(lambda v: pc.invert(pc.fill_null(v, False)), (_condition(args[0], session, "NOT"),), '
        "types.BOOLEAN)",
        tests=(FILTERS,),
    ),
    Bug(
        name="NaN is smaller than other numbers",
        file="eddy/sql/kernels/comparison.py",
        old='    ">": lambda left, right: pc.invert(pc.less_equal(left, right)),',
        new='    ">": lambda left, right: pc.greater(left, right),',
        tests=("tests/eddy/sql/test_values.py", "tests/eddy/sql/test_properties.py"),
    ),
    Bug(
        name="a policy leaves rows out",
        file="policies/shared/drawing.py",
        old="for i in np.unique(drawn).tolist()]",
        new="for i in np.unique(drawn).tolist()[1:]]",
        tests=("tests/policies/test_contract.py", "-k", "random"),
    ),
    Bug(
        name="a policy prefers what lets the most through",
        file="policies/shared/merit.py",
        old="return (statistic.rate - 1) / price",
        new="return (1 - statistic.rate) / price",
        tests=("tests/policies/test_learning.py", "policies/shared/merit.py"),
    ),
    Bug(
        name="a leg that runs everything keeps what one filter drops",
        file="eddy/routing/router.py",
        old="passed &= counted.counts.astype(np.bool_)",
        new="passed |= counted.counts.astype(np.bool_)",
        tests=(FILTERS, ROUTER),
    ),
    Bug(
        name="a tuple is lost when its leg leaves the others",
        file="eddy/routing/side_by_side.py",
        old="tuples = self._tuples.take(self._find_places([n])).with_lineage(self._lineages[n])",
        new="tuples = self._tuples.take(self._find_places([n])[1:]).with_lineage(self._lineages[n])",
        tests=(ROUTER,),
    ),
    Bug(
        name="how old a stored row may be is said by the row that came last, and not by the latest",
        file="operators/probe.py",
        old="latest = reduce(np.maximum, ticks)",
        new="latest = ticks[0]",
        tests=(VERDICTS,),
    ),
    Bug(
        name="a probe looks from the time of the row that came last on, and not of the latest",
        file="operators/probe.py",
        old="return self._stem.segments.reach(before, reduce(np.maximum, ticks))",
        new="return self._stem.segments.reach(before, ticks[0])",
        tests=(VERDICTS,),
    ),
    Bug(
        name="a segment of a window of rows is let go of one row too early",
        file="operators/stem.py",
        old="return int(self.ranks[segment.stop - 1]) < self.arrived - self.window.count",
        new="return int(self.ranks[segment.stop - 1]) <= self.arrived - self.window.count",
        tests=(ENGINE,),
    ),
    Bug(
        name="a heavy value is divided at the streams that do not have it",
        file="eddy/spark/layout/placement.py",
        old="if heavy.stream == self._stream:",
        new="if heavy.stream != self._stream:",
        tests=(LAYOUT, "-k", "heavy"),
    ),
    Bug(
        name="cells of two dimensions fall together",
        file="eddy/spark/layout/layout.py",
        old="stride *= dimension.share",
        new="stride += dimension.share - 1",
        tests=(LAYOUT,),
    ),
    Bug(
        name="a checkpoint of another layout is gone on from",
        file="eddy/spark/checkpoint_guard.py",
        old='check_layout(saved["layout"], shipped.layout)',
        new='check_layout(saved["layout"], saved["layout"])',
        tests=("tests/eddy/spark/test_cell.py",),
    ),
    Bug(
        name="a parcel has the time of its oldest row",
        file="eddy/spark/parcels.py",
        old="newest: float = known.max().item()",
        new="newest: float = known.min().item()",
        tests=("tests/eddy/spark/test_parcels.py", "-m", "not long and not spark"),
    ),
    Bug(
        name="parcels are read in the order in which they come",
        file="eddy/spark/cell.py",
        old="for name, _, payload in sorted(found)]",
        new="for name, _, payload in found]",
        tests=("tests/eddy/spark/test_arrivals.py", "tests/eddy/spark/test_cell.py"),
    ),
    Bug(
        name="what a cell stores is not counted while none of its rows come",
        file="eddy/observe/sum_cells.py",
        old="(ever if count in STANDING else now)",
        new="now",
        tests=("tests/eddy/spark/test_progress.py", "-m", "not long and not spark"),
    ),
    Bug(
        name="the search for shares rules out the best",
        file="eddy/spark/layout/planning.py",
        old="room ** (-max(map(len, rest)) / len(free))",
        new="room ** (-min(map(len, rest)) / len(free))",
        tests=("tests/eddy/spark/test_shares.py",),
    ),
    Bug(
        name="null is false",
        file="eddy/sql/kernels/logic.py",
        old="pc.invert(pc.fill_null(value, True))",
        new="pc.invert(pc.fill_null(value, False))",
        tests=("tests/eddy/sql/test_values.py", "-k", "examples"),
    ),
    Bug(
        name="the whole quotient of two decimals is the next smaller one",
        file="eddy/sql/kernels/decimals.py",
        old="np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)), 0",
        new="a // b, 0",
        tests=("tests/eddy/sql/test_values.py", "-k", "examples"),
    ),
    Bug(
        name="a half is rounded to the even neighbour",
        file="eddy/sql/kernels/rounding.py",
        old='rounding="ROUND_HALF_UP"',
        new='rounding="ROUND_HALF_EVEN"',
        tests=("tests/eddy/sql/test_values.py", "-k", "examples"),
    ),
    Bug(
        name="a policy forgets its trial in a restart",
        file="policies/content/stream_content.py",
        old='HalfTrial.restore(plain["trial"]) if plain.get("trial") else None',
        new="None",
        tests=("tests/policies/test_trial.py",),
    ),
    Bug(
        name="a new way that costs more than it saves is kept",
        file="policies/content/trial.py",
        old="return float(new - old + added - usual), float(doubt)",
        new="return float(new - old), float(doubt)",
        tests=("tests/policies/test_trial.py",),
    ),
    Bug(
        name="where classes are many every row takes the common order",
        file="policies/shared/orders.py",
        old="best = spent.argmin(axis=0)",
        new="best = spent.argmax(axis=0) * 0",
        tests=("tests/policies/test_learning.py", "-k", "own"),
    ),
    Bug(
        name="buckets are looked at while all rows go one way",
        file="policies/content/stream_content.py",
        old="if menu.is_single:",
        new="if False:",
        tests=("tests/policies/test_menu.py",),
    ),
    Bug(
        name="routes end at the first hop where operators wait for others",
        file="policies/content/menu.py",
        old="        if not ready:\n            routes.append(route)",
        new="        if not ready or route:\n            routes.append(route)",
        tests=("tests/policies/test_menu.py",),
    ),
    Bug(
        name="classes that appear drown in what was seen before",
        file="policies/content/profile.py",
        old="if self.fresh < FRESH_ROWS:",
        new="if self.fresh < 1_000_000 * FRESH_ROWS:",
        tests=("tests/policies/test_learning.py", "-k", "appear"),
    ),
    Bug(
        name="rows cost an operator what those cost that came to it",
        file="policies/content/class_costs.py",
        old="return (None if costs is None else costs.price) or self._prices[hop]",
        new="return self._prices[hop]",
        tests=("tests/policies/test_class_costs.py",),
    ),
    Bug(
        name="a common order never explores",
        file="policies/shared/guard.py",
        old="if not is_new and self._unexplored < self._lot:",
        new="if True:",
        tests=("tests/policies/test_guard.py",),
    ),
    Bug(
        name="a common order that was restored stands for another number of rows",
        file="policies/shared/guard.py",
        old="if not is_found and not task.lineage.done:",
        new="if not task.lineage.done:",
        tests=("tests/policies/test_contract.py", "-k", "content"),
    ),
    Bug(
        name="a guard gives up what pays, and keeps what does not",
        file="policies/shared/guard.py",
        old="if is_overdrawn and self._recent <= 0:",
        new="if is_overdrawn and self._recent > 0:",
        tests=("tests/policies/test_guard.py",),
    ),
    Bug(
        name="a sample of somebody else is forgotten in a restart",
        file="policies/query_mesh/policy.py",
        old='for number, (origin, samples) in enumerate(state.get("handed", {}).items()):',
        new='for number, (origin, samples) in enumerate(state.get("given", {}).items()):',
        tests=("tests/policies/test_guard.py",),
    ),
    Bug(
        name="an attribute that is cut anew has the same edition",
        file="eddy/classes/divider.py",
        old="        self.edition += 1\n        return cut",
        new="        return cut",
        tests=("tests/eddy/test_classifier.py",),
    ),
    Bug(
        name="counts by old buckets are mixed with new ones",
        file="policies/content/knowledge.py",
        old="        for attribute in changed:",
        new="        for attribute in changed[:0]:",
        tests=("tests/policies/test_editions.py",),
    ),
    Bug(
        name="a mesh goes on by buckets that mean something else",
        file="policies/query_mesh/stream_mesh.py",
        old="changed = self._editions.follow(editions)",
        new="changed = self._editions.follow(editions)[:0]",
        tests=("tests/policies/test_editions.py",),
    ),
    Bug(
        name="what the rows of a restart are counted from begins anew",
        file="eddy/classes/classifier.py",
        old='state.get("begun", {}).get(stream, 0)',
        new="0",
        tests=("tests/eddy/test_classifier.py",),
    ),
    Bug(
        name="a value beside a heavy one shares its bucket",
        file="eddy/classes/cuts.py",
        old="heavy[heavy < present[-1:]] + 1",
        new="heavy[heavy < present[-1:]]",
        tests=("tests/eddy/test_classifier.py",),
    ),
    Bug(
        name="an id that comes out of order tells rows apart",
        file="eddy/classes/nature.py",
        old="len(new) > PASSING_SHARE * len(late)",
        new="len(new) == len(late)",
        tests=("tests/eddy/test_nature.py",),
    ),
    Bug(
        name="the sample that ranges are cut by begins anew after a restart",
        file="eddy/classes/nature.py",
        old='self.sample = np.array(state["sample"], np.int64)',
        new="self.sample = np.empty(0, np.int64)",
        tests=("tests/eddy/test_divider.py",),
    ),
    Bug(
        name="the routes of a run are those of its last micro-batch",
        file="eddy/observe/report.py",
        old="rows[key] = rows.get(key, 0) + count",
        new="rows[key] = count",
        tests=("tests/eddy/test_report.py",),
    ),
    Bug(
        name="the file wins over the command",
        file="jobs/config/overrides.py",
        old="table[path[-1]] = override.text if",
        new="table[path[-1]] = table.get(path[-1]) or override.text if",
        tests=("tests/eddy/test_config.py",),
    ),
    Bug(
        name="what is left of a lot is forgotten",
        file="eddy/engine/emission.py",
        old="held = [lot]",
        new="held = []",
        tests=(ENGINE, "-k", "cheap"),
    ),
    Bug(
        name="as many results as a row may have are too many",
        file="eddy/engine/emission.py",
        old="if counts.max() <= most:",
        new="if counts.max() < most:",
        tests=("tests/eddy/test_bad_rows.py",),
    ),
    Bug(
        name="a stream with another window goes on with the old rows",
        file="eddy/query/fingerprint.py",
        old='parts[f"{place}: window"] = str(stream.window)',
        new='parts[f"{place}: window"] = type(stream.window).__name__',
        tests=(SNAPSHOT,),
    ),
    Bug(
        name="a verdict that is none yet is kept over a restart",
        file="operators/stem.py",
        old="np.where(verdicts < PENDING, verdicts, np.uint8(UNKNOWN))",
        new="np.where(verdicts <= PENDING, verdicts, np.uint8(UNKNOWN))",
        tests=("tests/eddy/test_faults.py",),
    ),
    Bug(
        name="a filter does not wait for those that it comes after",
        file="eddy/tuples/lineage.py",
        old="and rule.after <= lineage.done",
        new="and rule.after <= lineage.done | rule.after",
        tests=("tests/eddy/test_after.py", "-k", "nobody_sees"),
    ),
    Bug(
        name="the account of several cells is that of the last",
        file="eddy/observe/regret.py",
        old="sum(getattr(regret, name) for regret in same)",
        new="getattr(same[-1], name)",
        tests=(REGRET, "-k", "cells"),
    ),
    Bug(
        name="a decision of an arm takes the place of another's",
        file="eddy/observe/insight.py",
        old="return self.stream, self.policy, self.number",
        new='return self.stream, "", self.number',
        tests=(REGRET, "-k", "decisions or trees"),
    ),
    Bug(
        name="rounds lose rows",
        file="eddy/engine/rounds.py",
        old="parts.append(part.tuples.first(last).rest(first))",
        new="parts.append(part.tuples.first(last).rest(first + (first > 0)))",
        tests=("tests/eddy/test_rounds.py",),
    ),
    Bug(
        name="rounds join a row twice",
        file="eddy/engine/rounds.py",
        old="low = numbers[begun]",
        new="low = numbers[max(begun - 1, 0)]",
        tests=("tests/eddy/test_rounds.py",),
    ),
    Bug(
        name="an account has a wrong sign",
        file="policies/shared/account.py",
        old="self.saved += written - spent",
        new="self.saved += spent - written",
        tests=(f"{AUTO}/test_ledger.py",),
    ),
    Bug(
        name="an arm in charge is never audited",
        file="policies/auto/deal.py",
        old="count = min(int(self.control_due), rows // 2)",
        new="count = min(int(self.control_due), rows // 2) * 0",
        tests=(f"{AUTO}/test_deal.py",),
    ),
    Bug(
        name="a duel forgets the one in charge",
        file="policies/auto/duel.py",
        old="self.champion.add(*champion)",
        new="self.champion.add(*challenger)",
        tests=(f"{AUTO}/test_duel.py",),
    ),
    Bug(
        name="a sample's round asks an arm about no rows",
        file="policies/auto/course.py",
        old="if len(others) else ())]",
        new="if len(others) >= 0 else ())]",
        tests=(f"{AUTO}/test_policy.py", "-k", "no_rows"),
    ),
    Bug(
        name="a challenge that waits for its turn is forgotten in a restart",
        file="policies/auto/saved.py",
        old='"next_challenge": course.next_challenge,',
        new='"next_challenge": None,',
        tests=(f"{AUTO}/test_auto.py", "-k", "stopped"),
    ),
    Bug(
        name="prices trust a single slow call",
        file="eddy/observe/prices.py",
        old="ACCIDENTS = 2\n",
        new="ACCIDENTS = 0\n",
        tests=("tests/eddy/test_prices.py",),
    ),
)
