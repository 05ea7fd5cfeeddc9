"""Growth of the cost with rows, window, operators or streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.measure import SEED, Agree, Ratio, setting, summary, times_of

COUNTED = 15
"""Micro-batches of each size that count."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One size: who takes part, what they are given, and how many micro-batches do not count."""

    contenders: Mapping[str, Callable[[Any], object]]
    batches: Sequence[Any]
    warm: int
    agree: Agree


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Ratios at each size; `grows` says what it is that grows.

    >>> one = Ratio(name="a", median=1, low=1, high=1, seconds=9, each=0.003)
    >>> two = Ratio(name="b", median=2, low=2, high=2, seconds=18, each=0.006)
    >>> print(Growth(grows="rows", points={500: [one, two], 1_000: [one, two]}))
    times of a, by rows                       500        1,000
    a                                        1.00         1.00
    b                                        2.00         2.00
    milliseconds of a                        3.00         3.00
    """

    grows: str
    points: Mapping[int, Sequence[Ratio]]

    def __str__(self) -> str:
        first = next(iter(self.points.values()))
        rows = {f"times of {first[0].name}, by {self.grows}": [f"{size:,}" for size in self.points]}
        rows |= {ratio.name: [f"{at[i].median:.2f}" for at in self.points.values()] for i, ratio in enumerate(first)}
        rows[f"milliseconds of {first[0].name}"] = [f"{at[0].each * 1e3:.2f}" for at in self.points.values()]
        wide = max(32, *map(len, rows))
        return "\n".join(f"{name:<{wide}}" + "".join(f"{cell:>13}" for cell in cells) for name, cells in rows.items())

    def curves(self) -> dict[str, list[tuple[float, float, float]]]:
        """Milliseconds of each contender at each size.

        They are those of the baseline times the lower, middle, upper ratio.
        """
        found: dict[str, list[tuple[float, float, float]]] = {}
        for ratios in self.points.values():
            base = ratios[0].each * 1e3
            for ratio in ratios:
                found.setdefault(ratio.name, []).append((ratio.low * base, ratio.median * base, ratio.high * base))
        return found


def growth(
    grows: str,
    sizes: Sequence[int],
    case: Callable[[int], Case],
    *,
    rows: Callable[[int], int],
    folder: Path,
    file: str,
) -> Iterator[str | Ratio | Growth]:
    """Time the contenders at each size, the first of them being the baseline; draw and tell it.

    `rows` says how many rows a micro-batch of a size has.
    """
    points: dict[int, list[Ratio]] = {}
    for size in sizes:
        made = case(size)
        names = list(made.contenders)
        times = times_of(made.contenders, made.batches, agree=made.agree)[made.warm :]
        points[size] = summary(names, times, baseline=names[0])
        counted = len(times) * rows(size)
        yield f"{grows}: {size:,}; " + setting(rows=counted, batch=rows(size), seed=SEED)
        yield from points[size]
    found = Growth(grows=grows, points=points)
    plots.contenders(folder / file, grows, sizes, found.curves())
    yield found
