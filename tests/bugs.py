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
LAYOUT = "tests/eddy/spark/test_layout.py"


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
        file="operators/window.py",
        old="mask &= age(latest.take(at), target) <= own",
        new="mask &= age(latest.take(at), target) < own",
        tests=(VERDICTS,),
    ),
    Bug(
        name="the edge of a stored row's window is outside",
        file="operators/window.py",
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
        tests=(JOINS, "-k", "fixed"),
    ),
    Bug(
        name="a row meets itself where a stream is joined with its twin",
        file="operators/stem.py",
        old="return np.searchsorted(self._arrivals, arrivals) + self.fresh",
        new='return np.searchsorted(self._arrivals, arrivals + 1, side="right") + self.fresh',
        tests=(JOINS, "-k", "fixed"),
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
        file="operators/filter.py",
        old="return Judged(memory.passed(self.name, ids), None, skipped), len(new)",
        new="return Judged(memory.passed(self.name, ids) | ~unknown, None, skipped), len(new)",
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
        file="eddy/admission.py",
        old="late = present & (ticks < mark.watermark)",
        new="late = present & (ticks <= mark.watermark)",
        tests=(ENGINE,),
    ),
    Bug(
        name="the watermark is that of the fastest stream",
        file="eddy/admission.py",
        old="return Mark(min(marks) if len(marks) == len(streams) else None)",
        new="return Mark(max(marks) if len(marks) == len(streams) else None)",
        tests=(ENGINE,),
    ),
    Bug(
        name="an engine begins to count anew after a restart",
        file="eddy/engine.py",
        old='self._batch = meta["batch"]',
        new="self._batch = 0",
        tests=(STOPPED,),
    ),
    Bug(
        name="damage of the state is not noticed",
        file="eddy/snapshot.py",
        old="intact = checksum == _checksum(written, snapshot.blob)",
        new="intact = bool(checksum)",
        tests=("tests/eddy/test_damaged.py", "-k", "every_bit"),
    ),
    Bug(
        name="a wrong cell: a row's copies go to one place",
        file="eddy/spark/way.py",
        old="self._offsets = _sums(self._offsets, np.arange(share) * stride)",
        new="self._offsets = _sums(self._offsets, np.zeros(share, np.int64) * stride)",
        tests=(LAYOUT,),
    ),
    Bug(
        name="a wrong cell: the place of a row depends on its stream",
        file="eddy/spark/way.py",
        old="hashes: Hashes | int = salt",
        new="hashes: Hashes | int = salt + len(self._stream + str(self._batch.schema.names)) * ord(self._stream[0])",
        tests=(LAYOUT,),
    ),
    Bug(
        name="the two zeros are two keys",
        file="eddy/codes.py",
        old="fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0",
        new="fill_null(0.0).to_numpy(zero_copy_only=False)",
        tests=("tests/eddy/test_codes.py",),
    ),
    Bug(
        name="not of null is true",
        file="eddy/sql/logic.py",
        old='return apply(pc.invert, (_condition(args[0], session, "NOT"),), types.BOOLEAN)',
        new='return apply(lambda v: pc.invert(pc.fill_null(v, False)), (_condition(args[0], session, "NOT"),), '
        "types.BOOLEAN)",
        tests=(FILTERS,),
    ),
    Bug(
        name="NaN is smaller than other numbers",
        file="eddy/sql/comparison.py",
        old='    ">": lambda left, right: pc.invert(pc.less_equal(left, right)),',
        new='    ">": lambda left, right: pc.greater(left, right),',
        tests=("tests/eddy/sql/test_values.py", "tests/eddy/sql/test_properties.py"),
    ),
    Bug(
        name="a policy leaves rows out",
        file="policies/random.py",
        old="drawn = task.chance().integers(len(ready), size=task.rows)",
        new="drawn = task.chance().integers(len(ready) + 1, size=task.rows)",
        tests=("tests/policies/test_contract.py", "-k", "random"),
    ),
    Bug(
        name="a policy prefers what lets the most through",
        file="policies/merit.py",
        old="return (statistic.rate - 1) / cost(statistic, costs)",
        new="return (1 - statistic.rate) / cost(statistic, costs)",
        tests=("tests/policies/test_learning.py", "policies/merit.py"),
    ),
    Bug(
        name="a leg that runs everything keeps what one filter drops",
        file="eddy/router.py",
        old="passed &= counted.counts.astype(np.bool_)",
        new="passed |= counted.counts.astype(np.bool_)",
        tests=(FILTERS, ROUTER),
    ),
    Bug(
        name="a tuple is lost when its leg leaves the others",
        file="eddy/walks.py",
        old="tuples = self._tuples.take(self._places([n])).at(self._lineages[n])",
        new="tuples = self._tuples.take(self._places([n])[1:]).at(self._lineages[n])",
        tests=(ROUTER,),
    ),
)
