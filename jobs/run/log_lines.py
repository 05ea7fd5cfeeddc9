"""Logs as JSON, one object a line: `--log-format json`."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

TEXT, JSON = "text", "json"

FORMATS = (TEXT, JSON)
"""How a job tells of itself: lines for people, or objects for machines."""

FORMATS_HELP = "lines for people, or one JSON object a line, with the keys of docs/monitoring.md"

PACKAGE_LOGGER, JOB_LOGGER = "eddy", "eddy.job"


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object.

    `always` are values that each has. `hide` hides secrets in every text, since anybody may have written it.
    """

    def __init__(self, hide: Callable[[str], str] = str, always: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._hide = hide
        self._always = always or {}

    def format(self, record: logging.LogRecord) -> str:
        """Write one line."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": getattr(record, "event", "message"),
            "message": record.getMessage(),
            **self._always,
            **getattr(record, "fields", {}),
        }
        return json.dumps(self._hide_in(told), ensure_ascii=False)

    def _hide_in(self, value: Any) -> Any:
        """Hide secrets in every text: JSON would spell them in its own way, and then nobody finds them."""
        if isinstance(value, Mapping):
            return {str(name): self._hide_in(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._hide_in(one) for one in value]
        return value if value is None or isinstance(value, bool | int | float) else self._hide(str(value))


def log_as_json(
    hide: Callable[[str], str] = str, always: Mapping[str, Any] | None = None, out: TextIO | None = None
) -> None:
    """Send what our loggers hear to a stream, and warnings to our loggers.

    Loggers of others, the root among them, are left as they are.
    """
    handler = logging.StreamHandler(sys.stderr if out is None else out)
    handler.setFormatter(JsonLines(hide, always))
    logger = logging.getLogger(PACKAGE_LOGGER)
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    warnings.showwarning = _log_warning


def log_event(event: str, text: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log what a job does, with its fields."""
    logging.getLogger(JOB_LOGGER).log(level, "%s", text, extra={"event": event, "fields": fields})


def log_error(text: str) -> None:
    """Log why a job cannot go on."""
    log_event("error", text.removeprefix("error: "), level=logging.ERROR)


def _log_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Log a warning, in place of Python's own way to show it."""
    log_event("warning", str(message), level=logging.WARNING, category=category.__name__)
