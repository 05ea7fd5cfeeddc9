"""What a file names that must be there: functions, files, types."""

from __future__ import annotations

import difflib
import glob
import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from eddy.errors import QueryError, said
from eddy.mistakes import Mistakes
from eddy.settings import Path
from eddy.typetexts import type_of

FILES = ("parquet", "csv", "json")

STARTING = ("earliest", "latest")
"""Where reading a topic may begin, besides at offsets."""


def imported(text: str, path: Path, mistakes: Mistakes) -> Callable[..., Any] | None:
    """A function by its import path; None, and a mistake, if there is none.

    The module is imported as an `import` of the user's own would; nothing of the text is evaluated.
    """
    module, colon, name = text.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        mistakes.add(path, f'expected an import path such as "package.module:name", got "{text}"')
        return None
    try:
        holder = importlib.import_module(module)
        found = getattr(holder, name, None)
    except ModuleNotFoundError as error:
        mistakes.add(
            path,
            f'no module "{error.name}" for "{text}"; install it, put it into the folder in which the job is started, '
            "or hand it over with --py-files",
        )
        return None
    except (Exception, SystemExit) as error:  # the module is the user's: whatever it raises when it is imported is told
        mistakes.add(path, f'module "{module}" cannot be imported: {said(error)}')
        return None
    if callable(found):
        made: Callable[..., Any] = found
        return made
    mistakes.add(path, _no_function(text, holder, found))
    return None


def _no_function(text: str, holder: ModuleType, found: object) -> str:
    module, _, name = text.partition(":")
    if found is not None:
        return f'expected "{text}" to be a function, got {type(found).__name__}'
    close = difflib.get_close_matches(name, [one for one in vars(holder) if not one.startswith("_")], n=1)
    return f'module "{module}" has no "{name}"' + (f'; did you mean "{close[0]}"?' if close else "")


def check_files(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note the files of sources that are on this machine and are not there."""
    for path, source in sources(read):
        name = source.get("path")
        if source.get("format") in FILES and name and local(name) is not None and not glob.glob(local(name) or ""):
            mistakes.add(
                (*path, "path"),
                f'no such file or folder: "{name}"; paths are relative to the folder in which the job is started',
            )


def check_starting(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note the topics that are to be read from a place that there is not."""
    for path, source in sources(read):
        starting = source.get("starting")
        if isinstance(starting, str) and starting not in STARTING and not starting.lstrip().startswith("{"):
            offsets = f'{{"{source.get("topic")}": {{"0": 23}}}}'
            mistakes.add(
                (*path, "starting"),
                f"""expected "earliest", "latest", or offsets in JSON such as '{offsets}', got "{starting}\"""",
            )


def local(path: str) -> str | None:
    """The path of a file on this machine; None for one that only Spark can reach.

    >>> local("file:///data/a"), local("s3://data/a")
    ('/data/a', None)
    """
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return path
    return "/" + rest.lstrip("/") if scheme == "file" else None


def check_schemas(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note the columns with a type that there is not."""
    for path, source in sources(read):
        for column, text in source.get("schema", {}).items():
            place = (*path, "schema", column)
            if isinstance(text, str) and text:
                try:
                    type_of(text, where=f'column "{column}"')
                except QueryError as error:
                    mistakes.add(place, str(error))


def sources(read: Mapping[str, Any]) -> list[tuple[Path, Mapping[str, Any]]]:
    """Every source in a file, and its place."""
    return [
        ((kind, name, "source"), one["source"])
        for kind in ("streams", "tables")
        for name, one in read.get(kind, {}).items()
        if one.get("source")
    ]
