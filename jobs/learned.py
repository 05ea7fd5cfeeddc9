"""What the cells of a checkpoint have learned, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from eddy.aligned import aligned
from eddy.explain import classes
from eddy.lineage import Hop
from eddy.observe import NOTHING, Statistic
from jobs.checkpoints import Cell


def learned(cells: Sequence[Cell]) -> Iterator[str]:
    """The policy, who took which route last, and what the operators did to recent rows."""
    for policy in dict.fromkeys(cell.meta["policy"] for cell in cells):
        numbers = [str(cell.number) for cell in cells if cell.meta["policy"] == policy]
        yield f"policy of {'cell' if len(numbers) == 1 else 'cells'} {', '.join(numbers)}: {policy}"
    for stream in dict.fromkeys(stream for cell in cells for stream in cell.meta.get("taken", {})):
        yield from ("", f'routes of "{stream}", as taken last', *_routes(stream, cells))
    for cell in cells:
        for stream, known in cell.meta.get("taken", {}).items():
            if known["tree"]:
                yield from ("", f'who takes which way of "{stream}", cell {cell.number}')
                yield from (f"  {line}" for line in known["tree"])
    yield from ("", "operators, recent rows first: older ones count less and less", *_statistics(cells))


def _routes(stream: str, cells: Sequence[Cell]) -> Iterator[str]:
    """The largest classes with their routes, and the routes of all others together; of all cells."""
    taken = [
        (name, " > ".join(route), tuples)
        for cell in cells
        for name, route, tuples in cell.meta.get("taken", {}).get(stream, {"routes": []})["routes"]
    ]
    frame = pd.DataFrame(taken, columns=["class", "route", "tuples"])
    frame = frame.groupby(["class", "route"], sort=False)["tuples"].sum().reset_index()
    frame["share"] = frame["tuples"] / frame["tuples"].sum()
    return classes(frame.sort_values("tuples", ascending=False, kind="stable", ignore_index=True))


def _statistics(cells: Sequence[Cell]) -> Iterator[str]:
    """Statistics add up, over cells as well."""
    known: dict[Hop, Statistic] = {}
    for cell in cells:
        for operator, pattern, *counts in cell.meta["statistics"]:
            hop = Hop(operator, pattern)
            known[hop] = known.get(hop, NOTHING) + Statistic(*counts)
    rows = [["operator", "searched by", "rows in", "rows out", "rate", "us a row"]]
    rows += [
        [hop.operator, hop.pattern, f"{s.rows_in:,.0f}", f"{s.rows_out:,.0f}", f"{s.rate:.3f}", f"{s.cost * 1e6:.2f}"]
        for hop, s in known.items()
    ]
    return aligned(rows, "<<>>>>")
