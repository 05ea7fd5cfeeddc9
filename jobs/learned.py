"""What the cells of a checkpoint have learned, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddy.aligned import aligned
from eddy.lineage import Hop
from eddy.observe import NOTHING, Statistic
from jobs.checkpoints import Cell

SHOWN = 12
"""Classes and their routes that are shown of a stream, the largest: the rest is a tail that nobody reads."""


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
    """The largest classes and routes, all cells together."""
    counted: dict[tuple[str, str], int] = {}
    for cell in cells:
        for name, route, tuples in cell.meta.get("taken", {}).get(stream, {"routes": []})["routes"]:
            key = (name or "all alike", " > ".join(route))
            counted[key] = counted.get(key, 0) + tuples
    whole = sum(counted.values())
    largest = sorted(counted.items(), key=lambda item: -item[1])
    rows = [["class", "route", "rows"], *([*key, f"{tuples / whole:.0%}"] for key, tuples in largest[:SHOWN])]
    if len(largest) > SHOWN:
        rest = sum(tuples for _, tuples in largest[SHOWN:])
        rows.append([f"{len(largest) - SHOWN} more", "", f"{rest / whole:.0%}"])
    return aligned(rows, "<<>")


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
