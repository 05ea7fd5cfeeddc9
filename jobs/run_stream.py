"""Run a job: spark-submit jobs/run_stream.py conf/quickstart.toml."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Start what the file says, and stay until it ends or is stopped."""
    parser = argparse.ArgumentParser(prog="run_stream.py", description=__doc__)
    parser.add_argument("conf", help="the job, a TOML file such as conf/quickstart.toml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a value that wins over the file"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="the last line alone; no progress, and no warnings of Spark"
    )
    parser.add_argument("--live", action="store_true", help="progress on one line, for a terminal")
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error came from")
    chosen = parser.parse_args(arguments)
    find_modules()
    from jobs import complaints, running, stopping  # noqa: PLC0415  they are found only now

    try:
        return running.run(chosen.conf, sets=chosen.set, quiet=chosen.quiet, live=chosen.live)
    except complaints.EXPECTED as error:
        if chosen.traceback:
            raise
        print(complaints.told(error), file=sys.stderr)
        return complaints.FAILED
    except KeyboardInterrupt:
        print(stopping.NOT_BEGUN, file=sys.stderr)
        return complaints.INTERRUPTED


def find_modules() -> None:
    """Find our packages in the checkout; the user's are found beside the job's file when that is read.

    Python itself begins with the folder of this file, in which modules have names that others may want.
    """
    here = str(ROOT / "jobs")
    sys.path[:] = [place for place in sys.path if place != here]
    if (ROOT / "eddy").is_dir() and str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))


if __name__ == "__main__":
    sys.exit(main())
