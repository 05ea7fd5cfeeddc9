"""Finds the files of a package of data, and reads them.

A package is not imported: what one does then is its own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import csv

from eddy.errors import need_package


def find_folder(package: str, extra: str) -> Path:
    """Find the folder of a package with data, which an extra of ours installs; the package is not imported."""
    return Path(*(need_package(package, extra, "data").submodule_search_locations or ()))


def read(file: str | Path | IO[bytes], types: Mapping[str, pa.DataType]) -> pa.Table:
    """Read some columns of a CSV file.

    An empty text is null, and no other: NA is Namibia, and the National Association.
    """
    options = csv.ConvertOptions(
        column_types=pa.schema(list(types.items())),
        include_columns=list(types),
        strings_can_be_null=True,
        null_values=[""],
        quoted_strings_can_be_null=True,
    )
    return csv.read_csv(file, convert_options=options)
