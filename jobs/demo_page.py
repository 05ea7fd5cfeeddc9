"""The demo's report: one page of HTML with everything in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import eddy
from jobs.racing import Lap

COLOURS = ("#56606b", "#0072b2", "#d55e00", "#009e73")
"""Of the policies, in their order: told apart by everybody, whatever colours they see."""

WIDTH, HEIGHT = 720, 300
LEFT, BOTTOM, TOP, RIGHT = 50, 40, 15, 110
"""Room around the lines for the scales, and on the right for their names."""

APART = 14
"""Pixels from one name to the next: as high as a letter."""

CLASSES = 6
"""Classes and routes that are shown of a policy."""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2rem auto; padding: 0 1rem; color: #1c2126; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dde2; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
p.verdict { border-left: 4px solid #0072b2; padding: .4rem .8rem; background: #eef4f9; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #56606b; }
@media (prefers-color-scheme: dark) {
  body { background: #16191d; color: #dfe4e9; } th, td { border-color: #363d45; } p.verdict { background: #1d2833; }
}
"""


def page(laps: Sequence[Lap], verdict: str) -> str:
    """What was run, what came of it, how it went, and who went where."""
    parts = [
        "<h1>An eddy at work</h1>",
        f"<p>{sum(laps[0].rows):,} web requests went through three filters, once under each policy. Halfway the "
        "traffic changes, and with it the best order of the filters. A call is one request handed to one filter.</p>",
        f'<p class="verdict">{escape(verdict)}</p>',
        *_table(laps),
        "<h2>Calls per request, micro-batch by micro-batch</h2>",
        *_chart(laps),
        *(line for lap in laps for line in _routes(lap)),
    ]
    head = f'<meta charset="utf-8"><title>eddy demo</title><style>{STYLE}</style>'
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _table(laps: Sequence[Lap]) -> Iterator[str]:
    names = ("policy", "requests", "results", "calls", "calls saved")
    yield f"<table><tr>{''.join(f'<th{_side(i)}>{name}</th>' for i, name in enumerate(names))}</tr>"
    for lap in laps:
        saved = lap.saved(laps[0])
        share = "" if lap is laps[0] or saved is None else f"{saved:.0%}"
        cells = (lap.policy, f"{sum(lap.rows):,}", f"{lap.results:,}", f"{sum(lap.calls):,}", share)
        yield f"<tr>{''.join(f'<td{_side(i)}>{escape(cell)}</td>' for i, cell in enumerate(cells))}</tr>"
    yield "</table>"


def _side(column: int) -> str:
    """Numbers stand on the right."""
    return ' class="n"' if column else ""


def _chart(laps: Sequence[Lap]) -> Iterator[str]:
    """A line for each policy, and one where the traffic changes."""
    rates = [[calls / rows for calls, rows in zip(lap.calls, lap.rows, strict=True)] for lap in laps]
    batches, most = max(map(len, rates)), max(map(max, rates))
    across = (WIDTH - LEFT - RIGHT) / max(batches - 1, 1)
    down = (HEIGHT - TOP - BOTTOM) / most
    base, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="calls per request in each micro-batch">'
    for calls in range(int(most) + 1):
        level = base - calls * down
        yield f'<line x1="{LEFT}" x2="{end}" y1="{level:.1f}" y2="{level:.1f}" stroke="#d8dde2"/>'
        yield f'<text x="{LEFT - 8}" y="{level + 4:.1f}" text-anchor="end">{calls}</text>'
    change = LEFT + (batches / 2 - 0.5) * across
    yield f'<line x1="{change:.1f}" x2="{change:.1f}" y1="{TOP}" y2="{base}" stroke="#56606b" stroke-dasharray="4"/>'
    yield f'<text x="{change + 5:.1f}" y="{base - 6}">the traffic changes</text>'
    yield f'<text x="{(LEFT + end) / 2}" y="{HEIGHT - 8}" text-anchor="middle">micro-batch</text>'
    names = _spread([base - rate[-1] * down for rate in rates])
    for lap, rate, colour, name in zip(laps, rates, COLOURS, names, strict=True):
        points = " ".join(f"{LEFT + n * across:.1f},{base - value * down:.1f}" for n, value in enumerate(rate))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{end + 8}" y="{name + 4:.1f}" style="fill:{colour}">{escape(lap.policy)}</text>'
    yield "</svg>"


def _spread(levels: Sequence[float]) -> list[float]:
    """Levels of names, moved down as far as it takes for them not to meet.

    >>> _spread([10.0, 50.0, 12.0])
    [10.0, 50.0, 24.0]
    """
    placed = list(levels)
    before = float("-inf")
    for place in sorted(range(len(levels)), key=lambda place: levels[place]):
        placed[place] = before = max(levels[place], before + APART)
    return placed


def _routes(lap: Lap) -> Iterator[str]:
    """The largest classes, and the ways they took, before the change and after."""
    yield f"<h2>{escape(lap.policy)}: who went where</h2>"
    half = len(lap.report.counters) // 2
    for when, counters in (("before the change", lap.report.counters[:half]), ("after", lap.report.counters[half:])):
        routes = eddy.Report(counters).routes()[:CLASSES]
        yield f'<table><tr><th>{when}</th><th>route</th><th class="n">requests</th></tr>'
        for name, route, share in zip(routes["class"], routes["route"], routes["share"], strict=True):
            row = (name or "all alike", route, f"{share:.0%}")
            yield f"<tr>{''.join(f'<td{_side(i // 2)}>{escape(str(cell))}</td>' for i, cell in enumerate(row))}</tr>"
        yield "</table>"
