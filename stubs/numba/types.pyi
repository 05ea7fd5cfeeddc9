from typing import Any

boolean: Any
float64: Any
int64: Any
uint32: Any
uint64: Any
void: Any

def Array(dtype: Any, ndim: int, layout: str, readonly: bool = ...) -> Any: ...
def Tuple(types: tuple[Any, ...]) -> Any: ...
def UniTuple(dtype: Any, count: int) -> Any: ...
