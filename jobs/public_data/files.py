"""Finds the files of a package of data, and reads them.

A package is not imported: what one does then is its own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import csv

from eddy.errors import QueryError


def folder(package: str, extra: str) -> Path:
    """Find the folder of a package, which an extra of ours installs."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise QueryError(
            f'the data are in the package "{package}", which is not installed; pip install "eddy-spark[{extra}]"'
        )
    return Path(spec.submodule_search_locations[0])


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
