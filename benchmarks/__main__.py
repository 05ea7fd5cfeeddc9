"""Run every benchmark, or those that are named: python -m benchmarks filters."""

from __future__ import annotations

import sys

from benchmarks import filters, joins, spark_filters, spark_joins, spark_skeleton

SUITES = {
    "filters": filters.BENCHMARKS,
    "joins": joins.BENCHMARKS,
    "spark_filters": spark_filters.BENCHMARKS,
    "spark_joins": spark_joins.BENCHMARKS,
    "spark_skeleton": spark_skeleton.BENCHMARKS,
}


def main(names: list[str]) -> int:
    """Print the ratios of each suite."""
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        known = ", ".join(f'"{name}"' for name in SUITES)
        print(f'unknown suite "{unknown[0]}"; known: {known}', file=sys.stderr)
        return 2
    print("ratio: the median over micro-batches of time / the baseline's time [the middle half of them]")
    print("the baseline is the one at 1.000; the control is its copy, and shows what is noise")
    for name in names or SUITES:
        for benchmark in SUITES[name]:
            print()
            for line in benchmark():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
