"""Things that a file names: functions, files and types.

They must exist: each is looked up here, and one that is missing is a mistake.
"""

from __future__ import annotations

import difflib
import glob
import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pyarrow as pa

from eddy import sql
from eddy.errors import QueryError, describe_error, quote, unknown_name
from eddy.jobs.config.file_paths import display_path, find_local
from eddy.jobs.config.places import Mistakes
from eddy.redaction import KeyPath

FILES = ("parquet", "csv", "json")
STARTING = ("earliest", "latest")
"""The places where reading a topic may begin, besides offsets."""

MOST_SHOWN = 12
"""Functions of a module that are listed where one is asked for that it has not."""

_CLOSING = {"<": ">", "(": ")"}
DEEPEST_TYPE = 50
"""Types within types: more is a slip or an attack, and Arrow and Spark follow them by recursion."""

NO_SESSION = "SESSION_OR_CONTEXT_NOT_EXISTS"
"""How Spark's error begins if it needs a session and has none. It is known by its text, since validation imports no
Spark."""


SAME_AS = "same_as"
"""The key of a stream that is a second name of another one."""

SAME_KEYS = ("time", "delay", "max_ahead", "arrived", "malformed", "bad_rows")
"""Keys that streams of one source agree on."""


def find_beside(file: str) -> str:
    """Let Python find modules in the folder of a job's file.

    It gives the folder. Installed modules, and those that `--py-files` or PYTHONPATH name, come first: a file called
    `types.py` beside a job is no reason for Spark not to start.
    """
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.append(folder)
    return folder


def anything(*_: object) -> bool:
    """Stand for a function that is not there, so that what else is said of it can be tried."""
    return True


def import_function(text: str, path: KeyPath, mistakes: Mistakes) -> Callable[..., Any] | None:
    """Import a function by its path.

    It gives None, and notes a mistake, if that fails. The module is imported as an `import` of the user's own would;
    nothing of the text is evaluated.
    """
    module, colon, name = text.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        mistakes.add(path, f'expected an import path such as "package.module:name", got "{text}"')
        return None
    folder = find_beside(mistakes.file)
    try:
        holder = importlib.import_module(module)
        found = getattr(holder, name, None)
    except ModuleNotFoundError as error:
        mistakes.add(path, _describe_no_module(text, str(error.name), folder))
        return None
    except (Exception, SystemExit) as error:  # the module is the user's: whatever it raises when it is imported is told
        mistakes.add(path, f'module "{module}" cannot be imported: {describe_error(error)}{_cure(error)}')
        return None
    if callable(found):
        made: Callable[..., Any] = found
        return made
    mistakes.add(path, _describe_no_function(text, holder, found, folder))
    return None


def _cure(error: BaseException) -> str:
    """Say what mends a type in a text, which needs a session.

    The type is that of a function for Spark, and only a session can parse it. There is none when a job is read, and
    none in a worker either.
    """
    if NO_SESSION not in str(error):
        return ""
    return (
        " (there is no session here, nor in the workers: take the type as a class, as in pandas_udf(BooleanType()), or "
        "leave the decorator out, since a filter takes the function as it is)"
    )


def _describe_no_module(text: str, missing: str, folder: str) -> str:
    """Write the mistake of a missing module.

    It may be the one that is named, or one that it imports.
    """
    module = text.partition(":")[0]
    if not f"{module}.".startswith(f"{missing}."):
        return (
            f'module "{module}" imports "{missing}", which is not there; install it, put it into the folder of the '
            "job's file, or hand it over with --py-files"
        )
    top = missing.partition(".")[0]
    places, beside = list(getattr(sys.modules.get(top), "__path__", ())), os.path.join(folder, top)
    if places and beside not in places and os.path.isdir(beside):
        return f'no module "{missing}" for "{text}"; "{top}" comes from {places[0]}, and hides "{beside}"'
    close = difflib.get_close_matches(missing, _modules(missing, folder), n=1)
    hint = f'did you mean "{close[0]}"? ' if close else ""
    return (
        f'no module "{missing}" for "{text}"; {hint}it is looked for in the folder of the job\'s file, "{folder}", and '
        "where Python looks: put it there, install it, or hand it over with --py-files"
    )


def _modules(missing: str, folder: str) -> Iterator[str]:
    """List modules that could have been meant.

    They are beside the job, or beside one in a package.
    """
    package, _, _ = missing.rpartition(".")
    places = list(getattr(sys.modules.get(package), "__path__", ())) if package else [folder]
    yield from (f"{package}.{found.name}" if package else found.name for found in iter_modules(places))


def _describe_no_function(text: str, holder: ModuleType, found: object, folder: str) -> str:
    module, _, name = text.partition(":")
    if found is not None:
        return f'expected "{text}" to be a function, got {type(found).__name__}'
    told = f'module "{module}" has no "{name}"'
    own = [one for one, value in vars(holder).items() if getattr(value, "__module__", "") == holder.__name__]
    known = [one for one in own if not one.startswith("_") and callable(getattr(holder, one))]
    # A function that the module has imported is as good as one of its own.
    close = difflib.get_close_matches(name, [one for one, value in vars(holder).items() if callable(value)], n=1)
    beside, place = os.path.join(folder, *module.split(".")), getattr(holder, "__file__", None) or "Python itself"
    if os.path.exists(f"{beside}.py") and not place.startswith(folder + os.sep):
        return f'{told}; it comes from {place}, and hides "{beside}.py": call your module otherwise'
    if close:
        return f'{told}; did you mean "{close[0]}"?'
    return f"{told}; known: {quote(known[:MOST_SHOWN])}" if known else f"{told}; it has no functions"


def check_files(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Note files of sources that are missing on this machine."""
    for path, source in sources(read):
        name = source.get("path")
        place = find_local(name) if name and source.get("format") in FILES else None
        if name and place is not None and not glob.glob(place):
            mistakes.add(
                (*path, "path"),
                f'no such file or folder: "{display_path(name)}"; '
                "a path in the file is relative to the folder of the file",
            )


def check_starting(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Report invalid `starting` offsets."""
    for path, source in sources(read):
        starting = source.get("starting")
        if isinstance(starting, str) and starting not in STARTING and not starting.lstrip().startswith("{"):
            offsets = f'{{"{source.get("topic")}": {{"0": 23}}}}'
            mistakes.add(
                (*path, "starting"),
                f"""expected "earliest", "latest", or offsets in JSON such as '{offsets}', got "{starting}\"""",
            )


def check_schemas(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Report unknown column types."""
    for path, source in sources(read):
        for column, text in source.get("schema", {}).items():
            place = (*path, "schema", column)
            if isinstance(text, str) and text:
                try:
                    read_type(text, where=f'column "{column}"')
                except QueryError as error:
                    mistakes.add(place, str(error))


def sources(read: Mapping[str, Any]) -> list[tuple[KeyPath, Mapping[str, Any]]]:
    """Give every source in a file, and its place."""
    return [
        ((kind, name, "source"), one["source"])
        for kind in ("streams", "tables")
        for name, one in read.get(kind, {}).items()
        if one.get("source")
    ]


def follow_names(read: Mapping[str, Any], given: Collection[KeyPath], mistakes: Mistakes) -> None:
    """Give streams that are second names of others what these have, where they do not say it themselves."""
    streams = read.get("streams", {})
    for name, one in [*streams.items()]:
        path, other = ("streams", name, SAME_AS), one.get(SAME_AS)
        if other is None:
            continue
        if other not in streams:
            told = str(unknown_name("stream", other, [known for known in streams if known != name], where=""))
            mistakes.add(path, told.removeprefix(": "))
        elif streams[other].get(SAME_AS) is not None:
            mistakes.add(path, f'expected a stream that has a source, got "{other}", which is a second name itself')
        elif one.get("source"):
            mistakes.add((*path[:2], "source"), f'the rows are those of "{other}"; leave it out, or leave same_as out')
        else:
            source = streams[other].get("source") or {}
            # A workload knows the rows by the name of the first.
            own = {**source, "input": other} if source.get("input", other) is None else source
            said = {key: streams[other][key] for key in SAME_KEYS if (*path[:2], key) not in given}
            streams[name] = {**one, **said, "source": own}


def read_schema(columns: Mapping[str, str], *, where: str) -> pa.Schema:
    """Read the columns of a source.

    >>> read_schema({"k": "bigint", "tags": "array<string>"}, where="schema").types
    [DataType(int64), ListType(list<item: string>)]
    """
    return pa.schema([pa.field(name, read_type(text, where=where)) for name, text in columns.items()])


def read_type(text: str, *, where: str) -> pa.DataType:
    """Read a type by its name.

    It is one of SQL, or an array, a map or a struct of such.
    """
    if text.count("<") > DEEPEST_TYPE:
        raise QueryError(f"{where}: expected at most {DEEPEST_TYPE} types within types, got {text.count('<')}")
    head, opened, rest = text.strip().partition("<")
    if not opened:
        return sql.parse_type(text, where=where)
    if not rest.endswith(">"):
        raise QueryError(f'{where}: type "{text}": expected a ">" at its end')
    inner = _split(rest[:-1])
    name = head.strip().lower()
    if name == "array" and len(inner) == 1:
        return pa.list_(read_type(inner[0], where=where))
    if name == "map" and len(inner) == 2:
        return pa.map_(read_type(inner[0], where=where), read_type(inner[1], where=where))
    if name == "struct":
        fields = [part.partition(":") for part in inner]
        return pa.struct([pa.field(field.strip(), read_type(type, where=where)) for field, _, type in fields])
    raise QueryError(
        f'{where}: unknown type "{text}"; expected a type of SQL, array<type>, map<type, type> or '
        "struct<name: type, ...>"
    )


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in _CLOSING) - (letter in _CLOSING.values())
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
