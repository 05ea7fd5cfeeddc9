"""The outcome of a comparison, for scripts and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddy.comparison import export
from eddy.comparison.readable import frame, text
from eddy.comparison.summary import group_by_workload, summary
from eddy.comparison.turns import MeasuredRow, Traced
from eddy.comparison.verdict import verdict
from eddy.errors import QueryError, unknown_name
from eddy.query.explain.run import Reported, read_report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from eddy.comparison.plots.style import Plot
    from eddy.observe.report import Report


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """Policies side by side, with a summary and a verdict.

    It has the runs, plots and a report too. `skipped` says who did not apply where, and why; `settings` what it was run
    with, `command` how to run it again. `patterns` has the regret of indexes where a workload changes, a row for each
    access pattern of each run.
    """

    name: str
    runs: Sequence[MeasuredRow]
    traced: Sequence[Traced]
    patterns: Sequence[MeasuredRow] = ()
    skipped: Sequence[str]
    settings: Mapping[str, Any]
    command: str

    def __repr__(self) -> str:
        policies = dict.fromkeys(row["policy"] for row in self.runs)
        return f"Comparison({self.name}: {len(self.runs):,} runs of {len(policies):,} policies)\n{self.verdict}"

    @cached_property
    def rows(self) -> pa.Table:
        """One row for each run."""
        return export.table(self.runs)

    @cached_property
    def by_pattern(self) -> pa.Table:
        """One row for each access pattern of each run, where a workload changes: the regret of its indexes."""
        return export.table(self.patterns)

    def summary(self, *, by_workload: bool = False) -> pd.DataFrame:
        """Give one row for each policy, the quickest first.

        With `by_workload` there is one for each policy on each workload. Time and calls are medians of the runs. The
        saving compares runs of the same turn with the baseline; the true value of time lies between `at least` and `at
        most` with 95 % confidence, and below zero it is lost. `deciding %` is the part of the engine's time that the
        policy took to plan and to learn. Numbers are rounded to what can be read; `statistics` has all digits.
        """
        return frame(*self._choose_rows(by_workload))

    def table(self, *, by_workload: bool = False) -> str:
        """`summary` as text, for a terminal."""
        return text(*self._choose_rows(by_workload))

    def _choose_rows(self, by_workload: bool) -> tuple[Any, ...]:
        rows = self.statistics(by_workload=by_workload).to_pylist()
        return (rows, "workload", "policy") if by_workload else (rows, "policy")

    def statistics(self, *, by_workload: bool = False) -> pa.Table:
        """Give every figure of a policy with all its digits.

        `*_low` and `*_high` are the quartiles of what is measured, and the 95 % interval of what is saved.
        `noise_percent` is the A/A control: by how much the baseline, run twice, seems to differ from itself. The
        last ones are parts of the engine's time, in per cent and in microseconds a tuple.
        """
        if not by_workload:
            return export.table(summary(self.runs))
        parts = group_by_workload(self.runs).items()
        return export.table([{"workload": workload, **row} for workload, part in parts for row in summary(part)])

    @cached_property
    def verdict(self) -> str:
        """The policy to choose for this data, and its saving.

        Or that the difference is noise.
        """
        return str(verdict(self.runs))

    @property
    def plots(self) -> list[str]:
        """The plots that there is something to draw for."""
        return [name for name, plot in _plots().items() if plot.has(self)]

    def plot(self, name: str) -> Figure:
        """Draw one of `plots` as a figure of matplotlib's."""
        if name not in self.plots:
            raise unknown_name("plot", str(name), self.plots, where="comparison")
        return _plots()[name].draw(self)

    def report(self, path: str | Path) -> None:
        """Write all of it as one HTML file that needs nothing else."""
        from eddy.comparison.html.page import page  # noqa: PLC0415  it draws plots, which a comparison may do without

        place = export.check_target(path, export.PAGES)
        try:
            place.write_text(page(self), "utf-8")
        except OSError as error:
            raise QueryError(f'"{path}": cannot be written: {error.strerror}') from error

    def save(self, path: str | Path) -> None:
        """Write the rows as ".parquet", ".csv" or ".json"."""
        export.save(self.runs, path)

    def _repr_html_(self) -> str:
        from eddy.comparison.html.tables import note  # noqa: PLC0415  for notebooks only

        return note(self)


def plot_regret(what: Reported | Report) -> Figure:
    """Draw what a run has spent over time, and what the written order would have taken.

    It is a figure of matplotlib's, with a panel for each stream. Only a policy that keeps an account can be drawn:
    `report.regret()` has its figures.
    """
    _plots()
    from eddy.comparison.plots.regret import draw_report  # noqa: PLC0415  matplotlib is not needed to compare

    return draw_report(read_report(what, "plot_regret"))


def _plots() -> Mapping[str, Plot]:
    try:
        from eddy.comparison.plots.registry import PLOTS  # noqa: PLC0415  matplotlib is not needed to compare
    except ImportError as error:
        raise QueryError(
            f"plots: they need matplotlib, which cannot be imported: {error}; install it with "
            'pip install "eddy-spark[plots]"'
        ) from error
    return PLOTS
