"""The registry of plots: a new one is a function and an entry."""

from __future__ import annotations

from eddy.comparison.plots.policies import calls, time
from eddy.comparison.plots.regret import draw_comparison
from eddy.comparison.plots.sizes import batch_size, has_several, window_size
from eddy.comparison.plots.style import Plot, has
from eddy.comparison.plots.timeline import (
    cache_bytes,
    candidates,
    gain_ratio,
    index_bytes,
    over_time,
    routes,
    selectivity,
)

PLOTS: dict[str, Plot] = {
    "time": Plot(
        title="Time",
        caption="Microseconds a tuple: the median of the runs; the thin line holds the middle half of them.",
        has=lambda comparison: bool(comparison.runs),
        figure=time,
    ),
    "calls": Plot(
        title="Routing calls",
        caption="Calls of operators a tuple: the fewer, the better the order. Each call costs what its operator costs.",
        has=lambda comparison: bool(comparison.runs),
        figure=calls,
    ),
    "cost_over_time": Plot(
        title="Cost of a tuple over time",
        caption="A policy that adapts comes back down after the data has changed; one that is fixed does not.",
        has=lambda comparison: has(comparison.traced, "batches"),
        figure=over_time,
    ),
    "regret_over_time": Plot(
        title="Spent, and what the written order would have taken",
        caption="Seconds so far, of policies that keep an account. The written order is estimated, and the band is two "
        "standard errors to each side; what is spent lies below it where adapting pays.",
        has=lambda comparison: has(comparison.traced, "regret"),
        figure=draw_comparison,
    ),
    "routes_over_time": Plot(
        title="Routes of each class over time",
        caption="Which share of a class set out on which order of operators; white is before it was told apart.",
        has=lambda comparison: has(comparison.traced, "routes"),
        figure=routes,
    ),
    "selectivity_over_time": Plot(
        title="Selectivity of each operator over time",
        caption="Outputs per input, of the tuples that still came to the operator: what the policy has to learn.",
        has=lambda comparison: has(comparison.traced, "operators"),
        figure=selectivity,
    ),
    "gain_ratio_over_time": Plot(
        title="Gain ratio of the classifiers over time",
        caption="How well the attribute that the policy has chosen tells what an operator will do: 0 is not at all.",
        has=lambda comparison: any("classified" in one.trace.learning["kind"] for one in comparison.traced),
        figure=gain_ratio,
    ),
    "index_bytes": Plot(
        title="Bytes of indexes over time",
        caption="What the indexes of all inputs of a join occupy at the end of each micro-batch, beside the rows.",
        has=lambda comparison: has(comparison.traced, "indexes"),
        figure=index_bytes,
    ),
    "candidates": Plot(
        title="Candidates of joins over time",
        caption="How many stored rows were looked at for a tuple: the fewer, the better they are found.",
        has=lambda comparison: has(comparison.traced, "indexes"),
        figure=candidates,
    ),
    "caches": Plot(
        title="Caches over time",
        caption="Bytes of all combinations that are kept at the end of each micro-batch, and how many look-ups in it "
        "found their key: a cache that is taken up begins empty, and one that is given up is not asked.",
        has=lambda comparison: has(comparison.traced, "caches"),
        figure=cache_bytes,
    ),
    "batch_size": Plot(
        title="Cost against the size of micro-batches",
        caption="The median of the runs, with the middle half of them.",
        has=lambda comparison: has_several(comparison, "batch_rows"),
        figure=batch_size,
    ),
    "window_size": Plot(
        title="Cost against the size of windows",
        caption="The median of the runs, with the middle half of them.",
        has=lambda comparison: has_several(comparison, "window_size"),
        figure=window_size,
    ),
}
"""By the name that `Comparison.plot` takes, in the order of the report."""
