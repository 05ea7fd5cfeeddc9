"""Run every benchmark, or those that are named: python -m benchmarks filters."""

from __future__ import annotations

import sys

from benchmarks import filters

SUITES = {"filters": filters.BENCHMARKS}


def main(names: list[str]) -> int:
    """Print the ratios of each suite."""
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"unknown suite {unknown[0]!r}; known: {', '.join(SUITES)}", file=sys.stderr)
        return 2
    print("ratio: median over micro-batches of time / baseline's time [middle half of them]")
    for name in names or SUITES:
        for benchmark in SUITES[name]:
            for line in benchmark():
                print(line, flush=True)
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
