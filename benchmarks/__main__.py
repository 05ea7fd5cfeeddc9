"""Runs the benchmarks: python -m benchmarks filters --json F."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import (
    caches,
    filters,
    index_calls,
    index_structures,
    index_widths,
    indexes,
    joins,
    kernels,
    peer_engines,
    peer_filters,
    peer_joins,
    peers,
    spark_filters,
    spark_joins,
    spark_skeleton,
    spark_together,
    spark_where,
    statement_parts,
    statements,
    together,
    windows,
)
from benchmarks.growth import Growth
from benchmarks.measure import Ratio
from eddy.kernels.choice import choose_kernels

Benchmark = Callable[[], Iterator[str | Ratio | Growth]]

SUITES: dict[str, Sequence[Benchmark]] = {
    "filters": filters.BENCHMARKS,
    "joins": joins.BENCHMARKS,
    "kernels": kernels.BENCHMARKS,
    "windows": windows.BENCHMARKS,
    "indexes": indexes.BENCHMARKS,
    "caches": caches.BENCHMARKS,
    "index_structures": (*index_structures.BENCHMARKS, *index_widths.BENCHMARKS),
    "index_costs": (*index_widths.COSTS, *index_calls.COSTS),
    "peer_filters": peer_filters.BENCHMARKS,
    "peer_joins": peer_joins.BENCHMARKS,
    "peer_engines": peer_engines.BENCHMARKS,
    "spark_filters": spark_filters.BENCHMARKS,
    "spark_joins": spark_joins.BENCHMARKS,
    "spark_skeleton": spark_skeleton.BENCHMARKS,
    "spark_together": spark_together.BENCHMARKS,
    "spark_where": spark_where.BENCHMARKS,
    "statements": (*statement_parts.BENCHMARKS, *statements.BENCHMARKS),
    "together": together.BENCHMARKS,
}

PACKAGES = ("pyspark", "pyarrow", "numpy", "numba", "pandas", "duckdb", "polars")


def main(arguments: Sequence[str]) -> int:
    """Print the ratios of each suite, and write them down if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = (
        f"any of {', '.join(SUITES)}; without one, all; SUITE.BENCHMARK, as joins.memory, is one benchmark of a suite"
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=names)
    parser.add_argument("--json", type=Path, metavar="OUT", help="a file for everything that is printed, as values")
    asked = parser.parse_args(arguments)
    try:
        chosen = [one for name in asked.suites or SUITES for one in find_benchmarks(name)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print("ratio: the median over micro-batches of time / the baseline's time [the middle half of them]")
    print("the baseline is the one at 1.000; the control is its copy, and shows what is noise")
    print(f"kernels of joins: {choose_kernels().note or choose_kernels().kernels.name}")
    for tool, reason in peers.absent().items():
        print(f"skipped: {tool}: {reason}")
    found: list[dict[str, Any]] = []
    for suite, benchmark in chosen:
        found.append(tell(suite, benchmark))
        if asked.json:
            write(asked.json, found)
    return 0


def find_benchmarks(asked: str) -> list[tuple[str, Benchmark]]:
    """Find the benchmarks of a suite, or the one that is named behind a dot; ValueError if there are none.

    >>> [get_name(benchmark) for _, benchmark in find_benchmarks("joins.memory")]
    ['memory']
    """
    suite, _, name = asked.partition(".")
    if suite not in SUITES:
        raise ValueError(f'unknown suite "{suite}"; known: {_quote(SUITES)}')
    named = {get_name(one): one for one in SUITES[suite]}
    if name and name not in named:
        raise ValueError(f'suite "{suite}": unknown benchmark "{name}"; known: {_quote(named)}')
    return [(suite, one) for one in ([named[name]] if name else named.values())]


def get_name(benchmark: Benchmark) -> str:
    """Give the name of a benchmark: that of its function."""
    return str(getattr(benchmark, "__name__", ""))


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def tell(suite: str, benchmark: Benchmark) -> dict[str, Any]:
    """Print a benchmark as it goes, and how long it took; gives what it said, as values."""
    print()
    started = time.monotonic()
    said: list[Any] = []
    for line in benchmark():
        print(line, flush=True)
        said.append(
            line if isinstance(line, str) else {"kind": type(line).__name__.lower(), **dataclasses.asdict(line)}
        )
    name, seconds = get_name(benchmark), round(time.monotonic() - started)
    print(f"{suite}, {name}: {seconds} s in all", flush=True)
    return {"suite": suite, "benchmark": name, "seconds": seconds, "said": said}


def write(place: Path, found: Sequence[dict[str, Any]]) -> None:
    """Write down everything so far.

    So a run that is broken off was not for nothing.
    """
    made = {"python": platform.python_version(), "cores": os.cpu_count(), "machine": platform.machine()}
    made["kernels"] = choose_kernels().kernels.name
    place.write_text(json.dumps({"of": made | _versions(), "skipped": peers.absent(), "found": found}, indent=1) + "\n")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
