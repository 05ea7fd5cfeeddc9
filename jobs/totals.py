"""How many rows a query has read since its checkpoint began, over all its starts.

Spark keeps no such number, so it is written beside Spark's own files, in the checkpoint, after each micro-batch. A job
that is killed between a micro-batch and that has lost the rows of one: then what is known is a least number, and
is told as one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "eddy-rows.json"


class Note(Protocol):
    """Where a text is kept."""

    def read(self) -> str:
        """What is there; empty if nothing is, or it cannot be read."""

    def write(self, text: str) -> None:
        """Keep a text in place of the one before; one that cannot be kept is let go."""


class InCheckpoint:
    """A file in a checkpoint, wherever Spark can write one."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._path = jvm.org.apache.hadoop.fs.Path(checkpoint, NAME)
        context: Any = spark._jsc
        self._files = self._path.getFileSystem(context.hadoopConfiguration())

    def read(self) -> str:
        """What is there."""
        try:
            opened = self._files.open(self._path)
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(opened, "UTF-8"))
            finally:
                opened.close()
        except Py4JError:
            return ""

    def write(self, text: str) -> None:
        """Keep a text."""
        try:
            opened = self._files.create(self._path, True)
            opened.write(bytearray(text, "utf-8"))
            opened.close()
        except Py4JError:
            return  # the number is for people, and no reason for a job to end


class Total:
    """The rows of all micro-batches so far."""

    def __init__(self, note: Note | None = None) -> None:
        self._note = note
        self._batch, self._rows, self._whole = -1, 0, True
        try:
            known = json.loads(note.read()) if note else {}
            self._batch, self._rows, self._whole = int(known["batch"]), int(known["rows"]), bool(known["whole"])
        except (ValueError, KeyError, TypeError):
            return

    def add(self, batch: int, rows: int) -> str:
        """Count a micro-batch; gives the rows of all so far, with a "+" if some before were not counted.

        >>> total = Total()
        >>> total.add(0, 20), total.add(1, 20), total.add(3, 20)
        ('20', '40', '60+')
        """
        if batch > self._batch:
            self._whole = self._whole and batch == self._batch + 1
            self._batch, self._rows = batch, self._rows + rows
            if self._note:
                self._note.write(json.dumps({"batch": self._batch, "rows": self._rows, "whole": self._whole}))
        return f"{self._rows}{'' if self._whole else '+'}"
