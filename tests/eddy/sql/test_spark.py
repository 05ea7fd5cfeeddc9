"""Our answers are Spark's answers, row by row and type by type."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from eddy.errors import QueryError, SparkOnlyError
from eddy.requirements import read_numbers
from eddy.spark.versions import DOUBLES_QUOTES, find_doubled
from eddy.sql import Column, parse
from tests.conftest import CODEGEN
from tests.eddy.sql import cases, generator
from tests.eddy.sql.rows import TABLE, TYPES, columns, plain
from tests.eddy.sql.test_limits import FOUND, IN_NEW_YORK, LATE, numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The seeds and the size of the random part: about a second of Spark's time for each hundred expressions.
SEEDS = (1, 2)
RANDOM_EXPRESSIONS = 150
TAKEN_BEFORE_4_3 = ["floor(d)", "ceil(f)"]
"""What we refuse as Spark does from 4.3 on: such a filter would work on one Spark alone."""

OTHER_ZONE = "Europe/Berlin"
IN_ZONE = cases.listed("""
    z + interval 1 day ; z - interval 1 day 12 hours ; z + interval 36 hours ; z + interval 181 days ; z || '' ;
    TIMESTAMP '2024-03-31 02:30:00' ; TIMESTAMP '2024-10-27 02:30:00' ; cast(x as timestamp) ; x - z ; z - x ;
    cast(x as timestamp) + v ; TIMESTAMP '1900-01-01 00:00:00' ; hour(TIMESTAMP '1880-01-01 00:00:00') ; z = x
""")


def frame(spark: SparkSession) -> DataFrame:
    """The table in Spark, which takes timestamps without a zone from Arrow only as differences."""
    place = TABLE.column_names.index("x")
    plain = TABLE.set_column(place, "x", TABLE["x"].cast(pa.int64()).cast(pa.duration("us")))
    names = ["TIMESTAMP_NTZ '1970-01-01' + x AS x" if name == "x" else name for name in TABLE.column_names]
    return spark.createDataFrame(plain).selectExpr(*names)


@pytest.fixture(scope="module", name="spark")
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """The session as users have it: it compiles what it evaluates."""
    with setting(spark, CODEGEN, "true"):
        yield spark


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    return frame(spark)


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    usual = spark.conf.get(key)
    spark.conf.set(key, value)
    yield
    spark.conf.set(key, str(usual))


@pytest.fixture
def other_zone(spark: SparkSession) -> Iterator[str]:
    with setting(spark, "spark.sql.session.timeZone", OTHER_ZONE):
        yield OTHER_ZONE


@pytest.fixture
def one_by_one(spark: SparkSession) -> Iterator[None]:
    """Without this, Spark works out what several columns have in common before any of them."""
    with setting(spark, "spark.sql.subexpressionElimination.enabled", "false"):
        yield


def ours(text: str, types: dict[Column, pa.DataType] = TYPES) -> pa.Array:
    bound = parse(text, where="here").bind(types)
    found = bound.evaluate(columns(types), TABLE.num_rows)
    assert found.type == bound.type
    assert len(found) == TABLE.num_rows
    return found


def differences(table: DataFrame, texts: list[str]) -> Iterator[str]:
    spoken = table.selectExpr(*(f"{text} AS c{place}" for place, text in enumerate(texts))).toArrow()
    for place, text in enumerate(texts):
        theirs, mine = spoken.column(place), ours(text)
        if plain(mine) != plain(theirs):
            yield f"{text}: {plain(mine)} is not Spark's {plain(theirs)}"
        if mine.type != theirs.type:
            yield f"{text}: {mine.type} is not Spark's {theirs.type}"


@pytest.mark.parametrize("name", ["COMPARED", "LOGIC", "ARITHMETIC", "CONDITIONAL", "STRINGS", "TIMES", "CASTS"])
def test_listed_expressions(table: DataFrame, name: str) -> None:
    texts = [text for text in getattr(cases, name) if DOUBLES_QUOTES or not list(find_doubled(text))]
    assert list(differences(table, texts)) == []


@pytest.mark.usefixtures("one_by_one")
def test_arguments_that_are_not_looked_at(table: DataFrame) -> None:
    assert list(differences(table, cases.SKIPPED)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions(table: DataFrame, seed: int) -> None:
    assert list(differences(table, list(generator.expressions(seed, RANDOM_EXPRESSIONS)))) == []


def accepted(table: DataFrame, text: str) -> bool:
    try:
        table.selectExpr(f"{text} AS c").collect()
    except Exception:  # whatever it is: parser, analyzer and runtime have no error in common
        return False
    return True


def test_spark_refuses_what_is_listed(table: DataFrame) -> None:
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(lambda text: accepted(table, text), cases.REFUSED))
    taken = [text for text, kept_it in zip(cases.REFUSED, kept, strict=True) if kept_it]
    assert taken == ([] if read_numbers(table.sparkSession.version) >= (4, 3) else TAKEN_BEFORE_4_3)


def test_spark_takes_what_is_left_to_it(table: DataFrame) -> None:
    assert len(table.selectExpr(*(f"{text} AS c{place}" for place, text in enumerate(cases.OF_SPARK))).collect()) == 10


@pytest.mark.parametrize("text", cases.OF_SPARK)
def test_we_leave_it_to_spark_with_a_hint(text: str) -> None:
    with pytest.raises(SparkOnlyError, match=r"^here: [^\n]+; Spark alone evaluates it, [^\n]+\n  .*\n *\^"):
        ours(text)


@pytest.mark.parametrize("text", cases.REFUSED)
def test_we_refuse_what_spark_refuses(text: str) -> None:
    with pytest.raises(QueryError, match=r"^here: [^\n]+\n  .*\n *\^"):
        ours(text)


def test_other_session_zones(spark: SparkSession, other_zone: str) -> None:
    types = {column: pa.timestamp("us", other_zone) if column.name == "z" else kind for column, kind in TYPES.items()}
    texts = [*IN_ZONE, *cases.TIMES]
    spoken = frame(spark).selectExpr(*(f"{text} AS c{place}" for place, text in enumerate(texts))).toArrow()
    wrong = [text for place, text in enumerate(texts) if plain(ours(text, types)) != plain(spoken.column(place))]
    assert wrong == []


@pytest.mark.parametrize("texts", [FOUND, IN_NEW_YORK], ids=["limits", "late times"])
def test_limits_are_those_of_spark(spark: SparkSession, texts: list[tuple[str, Any]]) -> None:
    """What `test_limits` expects, but for a cast that Spark wraps around, and roundings that take it minutes."""
    asked = [(text, value) for text, value in texts if "try_cast(date" not in text and "00000)" not in text]
    value = "1" if texts is FOUND else f"timestamp_seconds({LATE})"
    with setting(spark, "spark.sql.session.timeZone", "UTC" if texts is FOUND else "America/New_York"):
        table = spark.sql(f"SELECT {value} AS v")
        spoken = table.selectExpr(*(f"{text} AS c{place}" for place, (text, _) in enumerate(asked))).toArrow()
        found = [numbers(column.combine_chunks())[0] for column in spoken.columns]
    assert [(text, mine) for (text, mine), theirs in zip(asked, found, strict=True) if mine != theirs] == []
