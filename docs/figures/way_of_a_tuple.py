"""Draw the way of a tuple: python docs/figures/way_of_a_tuple.py."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

OUT = Path(__file__).with_suffix(".svg")


class Stop(NamedTuple):
    """One thing that happens to rows or tuples, and the function that does it."""

    does: str
    file: str
    function: str


DRIVER = (
    Stop("check the query, divide the work", "eddy/spark/stream.py", "attach"),
    Stop("bind it to the schemas", "eddy/query/binding.py", "bind"),
    Stop("leave SQL filters to Spark", "eddy/spark/before/pushdown.py", "push"),
    Stop("lay out the cells", "eddy/spark/layout/planning.py", "plan_layout"),
)
PACKING = (
    Stop("find each row's cells", "eddy/spark/layout/layout.py", "place"),
    Stop("pack a parcel for each cell", "eddy/spark/parcels.py", "pack"),
)
BEFORE = (
    Stop("unpack what came for the cell", "eddy/spark/cell.py", "unpack_arrivals"),
    Stop("go on from the state", "eddy/spark/worker_cache.py", "resume"),
)
ARRIVING = (
    Stop("admit: drop late and bad rows", "eddy/engine/admission.py", "admit"),
    Stop("build: store the rows in a STeM", "operators/shared.py", "append"),
    Stop("put their values into buckets", "eddy/classes/classifier.py", "arrive"),
)
LOOP = (
    Stop("who may go next", "eddy/tuples/lineage.py", "ready"),
    Stop("who should: plan legs", "eddy/contracts.py", "plan"),
    Stop("check the plan", "eddy/routing/plan_check.py", "check_plan"),
    Stop("a step: which rows pass a filter", "operators/filter.py", "run"),
    Stop("or: which rows match a probe", "operators/matching.py", "match"),
    Stop("tell the policy what came of it", "eddy/contracts.py", "observe"),
)
LEAVING = (
    Stop("emit complete tuples", "eddy/engine/emission.py", "batches"),
    Stop("evict what nothing can meet", "operators/shared.py", "settle"),
    Stop("let the policy learn", "eddy/contracts.py", "learn"),
    Stop("save the state", "eddy/engine/snapshot.py", "pack"),
)
AFTER = (
    Stop("unpack the results", "eddy/spark/parcels.py", "unpack"),
    Stop("add up the cells' reports", "eddy/observe/sum_cells.py", "add"),
)
STOPS = (*DRIVER, *PACKING, *BEFORE, *ARRIVING, *LOOP, *LEAVING, *AFTER)

BOX, HEIGHT, GAP, PAD = 300, 40, 14, 14
LEFT, MIDDLE, RIGHT, TOP = 14, 400, 772, 40
WIDTH, TALL = RIGHT + BOX + LEFT + PAD, 656
LANE, BACK = 14, 16
"""From a frame to the line that leaves it, and to the line that comes back."""

STYLE = """
text { font-family: sans-serif; font-size: 13px; fill: #1a1a1a; }
.file { font-size: 11px; font-family: monospace; fill: #444444; }
.title { font-weight: bold; }
.box { fill: #ffffff; stroke: #333333; }
.frame { fill: #eef4f9; stroke: #0072b2; }
.loop { fill: #fdf1e7; stroke: #d55e00; }
.way { fill: none; stroke: #333333; stroke-width: 1.6; marker-end: url(#tip); }
.back { stroke: #d55e00; stroke-dasharray: 6 3; }
"""


def column(stops: tuple[Stop, ...], x: int, y: int) -> tuple[list[str], int]:
    """Boxes below each other with arrows between, and where the last one ends."""
    drawn: list[str] = []
    for number, stop in enumerate(stops):
        if number:
            drawn.append(arrow((x + BOX // 2, y - GAP), (x + BOX // 2, y)))
        drawn += [
            f'<rect class="box" x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="5"/>',
            f'<text x="{x + 10}" y="{y + 17}">{escape(stop.does)}</text>',
            f'<text class="file" x="{x + 10}" y="{y + 33}">{escape(stop.file)}: {stop.function}</text>',
        ]
        y += HEIGHT + GAP
    return drawn, y - GAP


def frame(kind: str, title: str, x: int, top: int, bottom: int) -> list[str]:
    """A frame around a column of boxes, with its title above them."""
    size = f'width="{BOX + 2 * PAD}" height="{bottom - top}"'
    return [
        f'<rect class="{kind}" x="{x - PAD}" y="{top}" {size} rx="8"/>',
        f'<text class="title" x="{x}" y="{top + 18}">{escape(title)}</text>',
    ]


def arrow(*points: tuple[int, int], more: str = "") -> str:
    """A line with a tip."""
    return f'<path class="way {more}" d="M{" L".join(f"{x} {y}" for x, y in points)}"/>'


def framed(kind: str, title: str, stops: tuple[Stop, ...], x: int, top: int) -> tuple[list[str], int]:
    """A titled frame with its boxes, and where it ends."""
    boxes, end = column(stops, x, top + 28)
    return [*frame(kind, title, x, top, end + PAD), *boxes], end + PAD


def picture() -> str:
    """Three columns: Spark before the engine; the engine and its loop; and the end of a micro-batch."""
    half = BOX // 2
    left, middle, right = LEFT + PAD, MIDDLE, RIGHT
    driver, end = framed("frame", "Once, on the driver", DRIVER, left, TOP)
    packing, packed = framed("frame", "Every task of a stream", PACKING, left, end + 34)
    before, cell = framed("frame", "Every cell that rows come for", BEFORE, left, packed + 50)
    arriving, arrived = framed("frame", "Engine.run: rows become tuples", ARRIVING, middle, TOP)
    loop, looped = framed("loop", "Router.route: until all are complete or dropped", LOOP, middle, arrived + 34)
    leaving, left_engine = framed("frame", "The micro-batch ends", LEAVING, right, TOP)
    after, _ = framed("frame", "Spark again", AFTER, right, left_engine + 34)
    lane, gap = left + BOX + PAD + LANE, middle + BOX + PAD + LANE
    ways = [
        arrow((left + half, end), (left + half, end + 34)),
        arrow((left + half, packed), (left + half, packed + 50)),
        f'<text x="{left + half + 10}" y="{packed + 30}">shuffle by cell</text>',
        arrow((left + BOX + PAD, cell - 40), (lane, cell - 40), (lane, TOP + 48), (middle - PAD, TOP + 48)),
        arrow((middle + half, arrived), (middle + half, arrived + 34)),
        arrow((middle + BOX + PAD, looped - 40), (gap, looped - 40), (gap, TOP + 48), (right - PAD, TOP + 48)),
        arrow((right + half, left_engine), (right + half, left_engine + 34)),
        arrow(
            (middle + half, looped),
            (middle + half, looped + 16),
            (middle - PAD - BACK, looped + 16),
            (middle - PAD - BACK, arrived + 82),
            (middle - PAD, arrived + 82),
            more="back",
        ),
    ]
    title = "The way of a tuple: one micro-batch on Spark"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TALL}" width="{WIDTH}" height="{TALL}">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z" fill="#333333"/></marker></defs>',
            f'<rect width="{WIDTH}" height="{TALL}" fill="#ffffff"/>',
            f'<text class="title" x="{LEFT}" y="24">{title}</text>',
            *(*driver, *packing, *before, *arriving, *loop, *leaving, *after, *ways),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    OUT.write_text(picture(), "utf-8")
