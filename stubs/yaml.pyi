from collections.abc import Iterator
from typing import Any

def safe_load_all(stream: str) -> Iterator[Any]: ...
