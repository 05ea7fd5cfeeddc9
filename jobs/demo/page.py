"""The demo's report: one page of HTML with everything in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from html import escape
from itertools import cycle
from typing import TextIO

import pandas as pd

import eddy
from eddy.jobs.demo.racing import Lap, write_calls
from eddy.observe.regret import TITLES, account_cells

COLOURS = ("#56606b", "#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Colours of the policies, in their order: everybody can tell them apart, whatever colours they see."""

WIDTH, HEIGHT = 720, 300
LEFT, BOTTOM, TOP, RIGHT = 62, 46, 15, 110
"""Room around the lines for the scales, and on the right for their names."""

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""Micro-batches from one tick to the next: the smallest that leaves room for the numbers."""

MOST_TICKS = 12
SMALLEST_STEP = 0.5
"""Calls per request from one tick to the next."""

TICK = 5
"""Pixels of a tick."""

APART = 14
"""Pixels from one name to the next: as high as a letter."""

MOST_LISTED = 6
"""Classes and routes that are shown of a policy."""

PAGE_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2rem auto; padding: 0 1rem; color: #1c2126; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dde2; overflow-wrap: anywhere; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
table.reasons th:nth-child(-n+3) { width: 16%; }
table.routes th:first-child { width: 37%; } table.routes th.n { width: 12%; }
tr.when th { padding-top: .9rem; } tr.sum td { font-weight: 600; border-bottom-width: 2px; }
p.verdict { border-left: 4px solid #0072b2; padding: .4rem .8rem; background: #eef4f9; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #56606b; }
@media (prefers-color-scheme: dark) {
  body { background: #16191d; color: #dfe4e9; } th, td { border-color: #363d45; } p.verdict { background: #1d2833; }
}
"""

UP, CLEAR = "\x1b[{lines}F", "\x1b[K"
"""Codes for terminals: go up some lines, to the first column; and empty the rest of the line."""

QUARTERS = 4
"""Lines for each policy where there is no terminal: enough to see that it goes on."""

HEAD = ("policy", "rows", "results", "calls", "calls saved", "most rows go now")
LINE = "{:<11} {:>8} {:>8} {:>9} {:>11}  {}"


def page(laps: Sequence[Lap], verdict: str) -> str:
    """Write the page: the run, its result, its course, the routes."""
    parts = [
        "<h1>An eddy at work</h1>",
        f"<p>{sum(laps[0].rows):,} web requests went through three filters, once under each policy. Halfway the "
        "traffic changes, and with it the best order of the filters. A call is one request handed to one filter.</p>",
        f'<p class="verdict">{escape(verdict)}</p>',
        *_table(laps),
        "<h2>Calls per request, micro-batch by micro-batch</h2>",
        *_chart(laps),
        *(line for lap in laps for line in (*_routes(lap), *_adapting(lap))),
    ]
    head = f'<meta charset="utf-8"><title>eddy demo</title><style>{PAGE_STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


class Board:
    """Shows how far policies have come, in place."""

    def __init__(self, rows: int, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._live = self._out.isatty()
        self._rows = rows
        self._lines = 0
        self._told: dict[str, int] = {}

    def show(self, laps: Sequence[Lap]) -> None:
        """Show the newest lap of all policies.

        The others are held against the first.
        """
        if self._live:
            self._draw(laps)
        else:
            for lap in laps:
                self._tell(lap, laps[0])
        self._out.flush()

    def end(self, laps: Sequence[Lap]) -> None:
        """Write the whole table for the last time."""
        self._draw(laps)
        self._out.flush()

    def _draw(self, laps: Sequence[Lap]) -> None:
        if self._lines:
            self._out.write(UP.format(lines=self._lines))
        width = shutil.get_terminal_size().columns - 1 if self._live else None
        lines = list(table(laps))
        for line in lines:
            self._out.write(f"{line[:width]}{CLEAR if self._live else ''}\n")
        self._lines = len(lines) if self._live else 0

    def _tell(self, lap: Lap, baseline: Lap) -> None:
        """A line each time that another quarter of the rows is done."""
        rows = sum(lap.rows)
        quarter = rows * QUARTERS // self._rows
        if quarter > self._told.get(lap.policy, 0):
            self._told[lap.policy] = quarter
            fields = (
                f"policy={lap.policy} rows={rows} calls={sum(lap.calls)} saved={_share(lap.compute_saving(baseline))}"
            )
            self._out.write(f'{fields} route="{lap.route()}"\n')
            for line in _list_accounts([lap]):
                self._out.write(f"{line}\n")


def table(laps: Sequence[Lap]) -> Iterator[str]:
    """Write the head, and a line for each policy; below, what adapting has cost those that count it."""
    yield LINE.format(*HEAD)
    for lap in laps:
        counts = (f"{sum(lap.rows):,}", f"{lap.results:,}", f"{sum(lap.calls):,}")
        saved = "" if lap is laps[0] else _share(lap.compute_saving(laps[0]))
        yield LINE.format(lap.policy, *counts, saved, lap.route()).rstrip()
    yield from _list_accounts(laps)


def _list_accounts(laps: Sequence[Lap]) -> Iterator[str]:
    """List what adapting has cost and saved, and the last decision, of policies that count it."""
    for lap in laps:
        if lap.adapting:
            yield lap.adapting
            yield from (f"{who} about {stream}: {reason}" for _, who, stream, reason in lap.reasons()[-1:])


def _table(laps: Sequence[Lap]) -> Iterator[str]:
    names = ("policy", "requests", "results", "calls", "calls a request", "calls saved")
    yield f"<table><tr>{_cells(names, texts=1, tag='th')}</tr>"
    for lap in laps:
        saved = lap.compute_saving(laps[0])
        share = "" if lap is laps[0] or saved is None else f"{saved:.0%}"
        each = f"{sum(lap.calls) / max(sum(lap.rows), 1):.2f}"
        cells = (lap.policy, f"{sum(lap.rows):,}", f"{lap.results:,}", f"{sum(lap.calls):,}", each, share)
        yield f"<tr>{_cells(cells, texts=1)}</tr>"
    yield "</table>"


def _cells(cells: Sequence[str], *, texts: int, tag: str = "td") -> str:
    """Write the cells of a line.

    First come texts, then numbers, which stand on the right.
    """
    sides = ["" if place < texts else ' class="n"' for place in range(len(cells))]
    return "".join(f"<{tag}{side}>{escape(text)}</{tag}>" for text, side in zip(cells, sides, strict=True))


def _chart(laps: Sequence[Lap]) -> Iterator[str]:
    """A line for each policy, and one where the traffic changes."""
    rates = [[calls / rows for calls, rows in zip(lap.calls, lap.rows, strict=True)] for lap in laps]
    batches, most = max(map(len, rates)), max(map(max, rates))
    across = (WIDTH - LEFT - RIGHT) / max(batches - 1, 1)
    down = (HEIGHT - TOP - BOTTOM) / most
    base, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="calls per request in each micro-batch">'
    yield from _levels(most, base, down, end)
    yield from _batches(batches, across, base)
    change = LEFT + (batches / 2 - 0.5) * across
    yield f'<line x1="{change:.1f}" x2="{change:.1f}" y1="{TOP}" y2="{base}" stroke="#56606b" stroke-dasharray="4"/>'
    yield f'<text x="{change + 5:.1f}" y="{base - 6}">the traffic changes</text>'
    each = f" of {laps[0].rows[0]:,} requests" if laps[0].rows else ""
    yield f'<text x="{(LEFT + end) / 2}" y="{HEIGHT - 4}" text-anchor="middle">micro-batch{each}</text>'
    turned = f"translate(12 {(TOP + base) / 2}) rotate(-90)"
    yield f'<text transform="{turned}" text-anchor="middle">calls per request</text>'
    names = _spread([base - rate[-1] * down for rate in rates])
    for lap, rate, colour, name in zip(laps, rates, cycle(COLOURS), names, strict=False):
        points = " ".join(f"{LEFT + n * across:.1f},{base - value * down:.1f}" for n, value in enumerate(rate))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{end + 8}" y="{name + 4:.1f}" style="fill:{colour}">{escape(lap.policy)}</text>'
    yield "</svg>"


def _levels(most: float, base: int, down: float, end: int) -> Iterator[str]:
    """Draw the scale of calls per request.

    A line crosses at every tick.
    """
    for tick in range(int(most / SMALLEST_STEP) + 1):
        level = base - tick * SMALLEST_STEP * down
        yield f'<line x1="{LEFT - TICK}" x2="{end}" y1="{level:.1f}" y2="{level:.1f}" stroke="#d8dde2"/>'
        yield f'<text x="{LEFT - 8}" y="{level + 4:.1f}" text-anchor="end">{tick * SMALLEST_STEP:.1f}</text>'


def _batches(batches: int, across: float, base: int) -> Iterator[str]:
    """Draw the scale of micro-batches, which count from 1."""
    every = next((step for step in TICKS if batches / step <= MOST_TICKS), batches)
    for number in sorted({1, *range(every, batches + 1, every)}):
        place = LEFT + (number - 1) * across
        yield f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{base}" y2="{base + TICK}" stroke="#56606b"/>'
        yield f'<text x="{place:.1f}" y="{base + 17}" text-anchor="middle">{number}</text>'


def _spread(levels: Sequence[float]) -> list[float]:
    """Move names down until none of them meet.

    >>> _spread([10.0, 50.0, 12.0])
    [10.0, 50.0, 24.0]
    """
    placed = list(levels)
    before = float("-inf")
    for place in sorted(range(len(levels)), key=lambda place: levels[place]):
        placed[place] = before = max(levels[place], before + APART)
    return placed


def _routes(lap: Lap) -> Iterator[str]:
    """The largest classes and their routes, before and after.

    All other classes are one line, so that the sum is right.
    """
    yield f"<h2>{escape(lap.policy)}: who went where</h2>"
    half = len(lap.report.counters) // 2
    titles = ("class of requests", "route", "requests", "share")
    yield f'<table class="routes"><tr>{_cells(titles, texts=2, tag="th")}</tr>'
    for when, counters in (("before the change", lap.report.counters[:half]), ("after", lap.report.counters[half:])):
        yield f'<tr class="when"><th colspan="{len(titles)}">{when}</th></tr>'
        found = _ways(eddy.Report(counters).routes())
        for (name, route, count), share in zip(found, _percent([count for _, _, count in found]), strict=True):
            yield f"<tr>{_cells((name, route, f'{count:,}', f'{share}%'), texts=2)}</tr>"
        whole = sum(count for _, _, count in found)
        yield f'<tr class="sum">{_cells(("all", "", f"{whole:,}", "100%" if whole else ""), texts=2)}</tr>'
    yield "</table>"


def _adapting(lap: Lap) -> Iterator[str]:
    """What adapting has cost and saved, and the last decisions; nothing for a policy that tells of neither."""
    if lap.adapting:
        yield f"<p>{escape(lap.adapting)}</p>"
        yield f"<table><tr>{_cells(TITLES, texts=3, tag='th')}</tr>"
        for account in lap.accounts:
            yield f"<tr>{_cells(account_cells(account, write_calls), texts=3)}</tr>"
        yield "</table>"
    if told := lap.reasons()[-MOST_LISTED:]:
        titles = ("micro-batch", "decided by", "about", "because")
        yield f'<table class="reasons"><tr>{_cells(titles, texts=4, tag="th")}</tr>'
        for cells in told:
            yield f"<tr>{_cells(cells, texts=4)}</tr>"
        yield "</table>"


def _ways(routes: pd.DataFrame) -> list[tuple[str, str, int]]:
    """Give class, route and requests of the largest.

    All others are one line.
    """
    lines = [
        (str(name) or "all alike", str(route), int(count))
        for name, route, count in zip(routes["class"], routes["route"], routes["tuples"], strict=True)
    ]
    rest = lines[MOST_LISTED:]
    return [
        *lines[:MOST_LISTED],
        *([("others", f"{len(rest)} more", sum(n for _, _, n in rest))] if rest else []),
    ]


def _percent(counts: Sequence[int]) -> list[int]:
    """Round shares to whole per cent that add up to 100.

    Those that lose most by rounding down are rounded up.

    >>> _percent([1, 1, 1]), _percent([995, 5])
    ([34, 33, 33], [100, 0])
    """
    whole = sum(counts)
    if not whole:
        return [0 for _ in counts]
    shares = [count * 100 // whole for count in counts]
    lost = sorted(range(len(counts)), key=lambda place: -(counts[place] * 100 % whole))
    for place in lost[: 100 - sum(shares)]:
        shares[place] += 1
    return shares


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
