"""Functions that Spark has wrapped for DataFrames are filters too, or are refused with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cloudpickle
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.functions import udf
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import BooleanType, IntegerType

import eddy
from eddy.spark.versions import HAS_ARROW_UDF

if not HAS_ARROW_UDF:
    pytest.skip("this Spark has no functions of Arrow arrays", allow_module_level=True)

from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

BOOLEAN = BooleanType()

PANDAS: Any = pandas_udf
ARROW: Any = arrow_udf
UDF: Any = udf
"""Spark says of its decorators which functions they take, and these are wrong on purpose."""


def by_series(v: pd.Series) -> pd.Series:
    return v > 2


def by_array(v: pa.Array) -> pa.Array:
    return pa.compute.greater(v, 2)


def by_row(v: Any) -> Any:
    return None if v is None else v > 2


def by_parts(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for part in parts:
        yield part > 2


def of_all(v: pd.Series) -> bool:
    return bool(v.any())


def of_frame(v: pd.DataFrame) -> pd.Series:
    return v["a"] > 2


@pytest.mark.parametrize(
    "function",
    [
        PANDAS(by_series, BOOLEAN),
        ARROW(by_array, BOOLEAN),
        UDF(by_row, BOOLEAN, useArrow=False),
        UDF(by_row, BOOLEAN, useArrow=True),
        vars(UDF(by_row, BOOLEAN, useArrow=False))["_unwrapped"],
    ],
    ids=["pandas_udf", "arrow_udf", "udf", "udf with arrow", "unwrapped"],
)
def test_its_function_is_taken_out(function: Any) -> None:
    asked = eddy.Filter("f", on="a", function=function)
    assert asked.function is function.func
    again: eddy.Filter = cloudpickle.loads(cloudpickle.dumps(asked))
    query = eddy.Query(streams=[eddy.Stream("a", time="v")], filters=[again])
    run = eddy.run_local(query, {"a": pa.table({"v": [1, 2, 3, None, 4]})})
    assert run.results["a_v"].to_pylist() == [3, 4]


def bare(va: Any) -> Any:
    """Says nothing of its columns, so the kind of its wrapper does."""
    assert isinstance(va, pa.Array)
    return pa.compute.greater(va, 2)


@pytest.mark.parametrize("columns", [["Va"], ["a.VA"], None])
def test_what_its_wrapper_says_holds_for_columns_of_another_case(columns: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare, "__annotations__", {})
    with pytest.warns(UserWarning, match="type hints"):
        function = ARROW(bare, BOOLEAN, ArrowUDFType.SCALAR)
    asked = eddy.Filter("f", on="a", function=function, columns=columns)
    query = eddy.Query(streams=[eddy.Stream("a")], filters=[asked])
    assert eddy.run_local(query, {"a": pa.table({"Va": [1, 2, 3]})}).results["a_Va"].to_pylist() == [3]


@pytest.mark.parametrize(
    ("function", "more", "message"),
    [
        (PANDAS(by_parts, BOOLEAN), {}, "a pandas_udf from pd.Series to pd.Series, got .* iterator over batches; "),
        (
            PANDAS(of_all, BOOLEAN),
            {},
            "expected a udf, or a pandas_udf .* groups of rows, or frames; .* write it so",
        ),
        (PANDAS(by_series, IntegerType()), {}, 'a pandas_udf that returns "int"; expected "boolean"'),
        (UDF(by_row, useArrow=False), {}, 'a udf that returns "string"; expected "boolean": make it a comparison'),
        (PANDAS(by_series, BOOLEAN).asNondeterministic(), {}, "declared nondeterministic"),
        (PANDAS(by_series, BOOLEAN), {"rowwise": True}, "is handed columns; leave rowwise out"),
        (PANDAS(of_frame, BOOLEAN), {}, 'parameter "v" asks for .*DataFrame'),
    ],
    ids=["iterator", "aggregate", "integers", "texts", "nondeterministic", "by row", "frame"],
)
def test_what_is_no_judgement_of_rows_is_refused(function: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(eddy.QueryError, match=f'filter "f": (function: )?.*{message}'):
        eddy.Filter("f", on="a", function=function, columns=["v"], **more)
