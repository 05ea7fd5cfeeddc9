"""Errors for the person who started a job, without tracebacks."""

from __future__ import annotations

import re
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from eddy.errors import EddyError
from eddy.jobs.run.packages import describe_missing
from eddy.redaction import hide_marked

EXPECTED = (EddyError, PySparkException, Py4JError)
"""The errors that a wrong file, wrong data or a wrong Spark may raise."""

FAILED, INTERRUPTED = 2, 130
"""Exit codes: something is wrong; stopped by the person before anything had begun."""

MOST_ERROR_LINES = 12
"""Lines of an error of Spark that are shown: after them come its plans and the ways through its code."""

_OURS = re.compile(r"eddy\.errors\.\w+: (.*?)(?=\n\s*\n|\nSQLSTATE|\n\s+at |\n+JVM stacktrace|\Z)", re.DOTALL)
_LAST_LINE = re.compile(r"^(\w[\w.]*(?:Error|Exception)\b.*)$", re.MULTILINE)
_PLAN = re.compile(r"(?:\s*SQLSTATE: \w+)*\s*=== Streaming Query ===.*", re.DOTALL)
_JAVA = re.compile(r"^An error occurred while calling .*\n: (?:[a-z_]\w*\.)+(?=[A-Z])")
_NOISE = re.compile(r"^\s+at |^JVM stacktrace|^== |^Traceback|^  File |^    ")

HINTS = {
    r"No module named": (
        "the workers cannot import it: hand it over with --py-files, or install it where they run; dist/eddy.zip of "
        '"make dist" has our packages; "eddy doctor" says which Python they use'
    ),
    r"worker failed to connect back": (
        "Spark gives a Python process ten seconds to start: the machine was too busy, so start the job again; if that "
        'does not help, "eddy doctor" says which Python it uses'
    ),
    r"INVALID_LOG_VERSION|UnsupportedLogVersion": (
        "a newer Spark has written the checkpoint: run the job with that one, or name a new checkpoint"
    ),
    r"PYTHON_VERSION_MISMATCH|different (minor )?version": (
        "set PYSPARK_PYTHON to a Python of the version that runs the job"
    ),
}
"""Hints that go with some errors of Spark."""


def explain_error(error: BaseException, hide: Callable[[str], str] = str) -> str:
    """Write an error for people.

    Ours stays as it is, also where it came from a worker; of Spark's the beginning is shown. `hide` hides what the job
    knows to be secret.
    """
    # Before anything is cut: of half a secret nobody knows that it is one.
    text = hide(_PLAN.sub("", _JAVA.sub("", str(error))))
    if (missing := describe_missing(text)) is not None:
        return f"error: {missing}"
    if isinstance(error, EddyError):
        return f"error: {text}"
    ours = _OURS.search(text)
    if ours:
        return f"error: {ours[1].strip()}"
    hints = [hint for pattern, hint in HINTS.items() if re.search(pattern, text, re.DOTALL)]
    lines = [line for line in text.splitlines() if line.strip() and not _NOISE.search(line)][:MOST_ERROR_LINES]
    last = _LAST_LINE.findall(text)
    if "Traceback" in text and last and last[-1] not in lines:
        lines.append(last[-1])
    told = [f"error: {line}" if not place else f"  {line}" for place, line in enumerate([*lines, *hints])]
    return hide_marked("\n".join(told))
