"""Reads the files of packages of data.

A package is not imported: what one does then is its own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import csv


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
