"""Runs a job: spark-submit jobs/run_stream.py JOB.toml."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Start what the file says, and stay until it ends.

    It may also be stopped.
    """
    parser = argparse.ArgumentParser(prog="run_stream.py", description=__doc__)
    parser.add_argument("conf", help="the job, a TOML file such as conf/quickstart.toml")
    parser.add_argument("--profile", metavar="NAME", help="a profile of the file that wins over the rest of it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a value that wins over the file"
    )
    parser.add_argument(
        "--quiet",
        action="store_true",
        help="the last line, after the answer if it goes to the console; no progress, and no warnings of Spark",
    )
    parser.add_argument("--live", action="store_true", help="progress on one line, for a terminal")
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="lines for people, or one JSON object a line"
    )
    parser.add_argument("--traceback", action="store_true", help="show where in the code an error came from")
    chosen = parser.parse_args(arguments)
    find_package()
    from eddy.jobs.run import error_text, log_lines, run_job, stopping  # noqa: PLC0415  they are found only now

    tell: Callable[[str], None] = partial(print, file=sys.stderr)
    if chosen.log_format == log_lines.JSON:
        log_lines.log_as_json()
        tell = log_lines.log_error
    shown: dict[str, Any] = {"quiet": chosen.quiet, "live": chosen.live, "log": chosen.log_format}
    try:
        return run_job.run(chosen.conf, sets=chosen.set, profile=chosen.profile, **shown)
    except error_text.EXPECTED as error:
        if chosen.traceback:
            raise
        tell(error_text.explain_error(error))
        return error_text.FAILED
    except KeyboardInterrupt:
        tell(stopping.NOT_BEGUN)
        return error_text.INTERRUPTED


def find_package() -> None:
    """Import our package from the checkout of this file, if any.

    Python begins with the folder of this file, in which modules have names that others may want, and beside our package
    stand folders that a user's own may be called like. So neither is a place where Python looks.
    """
    here, init = str(ROOT / "jobs"), ROOT / "eddy" / "__init__.py"
    sys.path[:] = [place for place in sys.path if place != here]
    if init.is_file() and "eddy" not in sys.modules:
        spec = spec_from_file_location("eddy", init, submodule_search_locations=[str(init.parent)])
        if spec is not None and spec.loader is not None:
            sys.modules["eddy"] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules["eddy"])


if __name__ == "__main__":
    sys.exit(main())
