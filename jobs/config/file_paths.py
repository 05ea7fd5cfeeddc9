"""Relative paths, whole wherever a job is started.

A path that stands in the file is relative to the folder of the file. One that `--set` or `--conf` gives is relative to
where the person stands who gives it. Either way it becomes a path of this machine, with its scheme: Spark would look
for a bare one in the file system that its settings name first, which on a cluster is another one. An absolute path, and
one with a scheme, is left to Spark as it is.
"""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass

from eddy.redaction import KeyPath

SCHEME = "file://"
"""Paths of this machine begin with this, for Spark."""


@dataclass(frozen=True)
class Places:
    """A job's folder, and the keys set from elsewhere.

    Values of these keys do not come from the job's file.
    """

    folder: str
    outside: Container[KeyPath]

    @staticmethod
    def beside(file: str, outside: Container[KeyPath]) -> Places:
        """Places beside a file."""
        return Places(os.path.dirname(os.path.abspath(file)), outside)

    def put(self, path: str, key: KeyPath) -> str:
        """Give the whole path of what a key names.

        >>> Places("/jobs", ()).put("in/*.csv", ()), Places("/jobs", ()).put("../out", ())
        ('file:///jobs/in/*.csv', 'file:///out')
        >>> Places("/jobs", ()).put("s3://bucket/in", ()), Places("/jobs", ()).put("/data/in", ())
        ('s3://bucket/in', '/data/in')
        """
        if find_local(path) != path or os.path.isabs(path):
            return path
        folder = os.getcwd() if key in self.outside else self.folder
        return SCHEME + os.path.normpath(os.path.join(folder, path))


def find_local(path: str) -> str | None:
    """Give the path of a file on this machine.

    None for one that only Spark can reach.

    >>> find_local("file:///data/a"), find_local("s3://data/a")
    ('/data/a', None)
    """
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return path
    return "/" + rest.lstrip("/") if scheme == "file" else None


def display_path(path: str) -> str:
    """Write a path for people.

    One of this machine goes without the scheme.

    >>> display_path("file:///data/a"), display_path("s3://data/a")
    ('/data/a', 's3://data/a')
    """
    return find_local(path) or path
