"""A folder in which what was learned of a query stays: all who learn leave a file each, and begin with the sum.

Whoever begins reads all files, adds them up, and later leaves one of its own. That one has in it what the others had,
so those that others left before are removed then; files of the same run stay, since their writers are still at work.
Nobody waits for anybody, and nobody writes a file that another one writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from eddy.engine.engine import Engine
from eddy.engine.learned_sum import add_up
from eddy.engine.snapshot import Snapshot
from eddy.engine.snapshot_file import read_file, tell_unread, write_file
from eddy.errors import CheckpointError, QueryError, read_message, write_repr

ENDING = ".learned"
"""What the names of our files end with; nothing else in a folder is touched."""

MOST_FILES = 256
"""The most files that are added up: whoever begins reads them all, and each has some kilobytes."""

DIGITS = 12
"""Of a digest in the name of a file: two runs, or two queries, that share a folder do not meet by chance."""


def check_folder(path: object, where: str) -> str | None:
    """Check where to remember what was learned; workers may be in another folder than this process."""
    if path is None:
        return None
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    # An address such as "hdfs://a/b" would be taken for a folder of this machine.
    if not isinstance(text, str) or not text or "\0" in text or "://" in text:
        raise QueryError(f"{where}: remember: expected the path of a folder, got {write_repr(path)}")
    if os.path.isfile(text):
        raise QueryError(f'{where}: remember: expected a folder, got the file "{text}"; name another place')
    return os.path.abspath(text)


@dataclass(frozen=True)
class Remembered:
    """A folder, and the run that reads and writes it: all who take part in one call it the same."""

    folder: Path
    run: str

    def begin(self, make: Callable[[], Engine]) -> tuple[Engine, Sequence[Path]]:
        """Make an engine that goes on from all that is there; gives the files of earlier runs that it has in it."""
        engine = make()
        found = dict(read_folder(self.folder, engine.check))
        if not found:
            return engine, ()
        try:
            engine.restore(add_up(found.values()))
        except CheckpointError as error:
            tell_unread(self.folder, error)
            return make(), ()
        return engine, [file for file in found if not file.name.startswith(self._own)]

    def leave(self, writer: str, snapshot: Snapshot, begun: Sequence[Path]) -> None:
        """Leave a file for who comes next, in the place of those that it has in it."""
        if write_file(self.folder / f"{self._own}{writer}{ENDING}", snapshot):
            for file in begun:
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    @property
    def _own(self) -> str:
        return f"{sha256(self.run.encode()).hexdigest()[:DIGITS]}-"


def list_files(folder: Path) -> list[Path]:
    """List what was left, in the order of names."""
    try:
        return sorted(file for file in folder.iterdir() if file.name.endswith(ENDING))
    except FileNotFoundError:
        return []


def read_folder(folder: Path, check: Callable[[Snapshot], None]) -> Iterator[tuple[Path, Snapshot]]:
    """Read what was left; what is damaged or of another query is told, and left alone."""
    try:
        files = list_files(folder)[:MOST_FILES]
    except OSError as error:
        tell_unread(folder, CheckpointError(f"folder: {read_message(error)}"))
        return
    for file in files:
        try:
            if (found := read_file(file)) is not None:
                check(found)
                yield file, found
        except CheckpointError as error:
            tell_unread(file, error)
