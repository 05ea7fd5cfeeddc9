"""Texts in files wherever Spark finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkFiles:
    """Reads and writes texts by the file systems that a session knows."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        context: Any = spark._jsc
        self._settings = context.hadoopConfiguration()

    def list_numbers(self, folder: str) -> list[int]:
        """List the files of a folder that are called by numbers, in their order."""
        path, files = self._find(folder)
        if not files.exists(path):
            return []
        names = [status.getPath().getName() for status in files.listStatus(path)]
        return sorted(int(name) for name in names if name.isdecimal())

    def exists(self, file: str) -> bool:
        """Tell whether there is such a file or folder."""
        path, files = self._find(file)
        return bool(files.exists(path))

    def read(self, file: str) -> str:
        """Read the text of a file."""
        path, files = self._find(file)
        opened = files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(opened, "UTF-8"))
        finally:
            opened.close()

    def write(self, file: str, text: str, *, replace: bool = False) -> None:
        """Write a file, in place of the one that is there if that is wanted."""
        path, files = self._find(file)
        opened = files.create(path, replace)
        opened.write(bytearray(text, "utf-8"))
        opened.close()

    def _find(self, name: str) -> tuple[Any, Any]:
        path = self._jvm.org.apache.hadoop.fs.Path(name)
        return path, path.getFileSystem(self._settings)
