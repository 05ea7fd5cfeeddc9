from pathlib import Path
from typing import IO

from pyarrow import Schema, Table

class ReadOptions:
    def __init__(self, *, column_names: list[str] | None = None) -> None: ...

class ParseOptions:
    def __init__(self, *, delimiter: str = ",", quote_char: str | bool = '"') -> None: ...

class ConvertOptions:
    def __init__(
        self,
        *,
        column_types: Schema,
        include_columns: list[str],
        include_missing_columns: bool = False,
        strings_can_be_null: bool = False,
        null_values: list[str] | None = None,
        quoted_strings_can_be_null: bool = True,
    ) -> None: ...

def read_csv(
    input_file: str | Path | IO[bytes],
    read_options: ReadOptions | None = None,
    *,
    parse_options: ParseOptions | None = None,
    convert_options: ConvertOptions | None = None,
) -> Table: ...
def write_csv(data: Table, output_file: str | Path) -> None: ...
