"""Durations are what Spark takes as the delay of a watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eddy.errors import QueryError
from eddy.query.validation import LONGEST_DURATION, duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND, DAY = 1_000_000, 86_400_000_000
TAKEN = [
    ("0 seconds", 0),
    ("-0 seconds", 0),
    ("1 microsecond", 1),
    ("500 milliseconds", 500_000),
    ("1.5 seconds", 1_500_000),
    (".5 seconds", 500_000),
    ("1. seconds", SECOND),
    ("0.000001 seconds", 1),
    ("0.0000019 seconds", 1),
    ("1.999999999 seconds", 1_999_999),
    ("10 MINUTES", 600 * SECOND),
    ("01 Minute", 60 * SECOND),
    ("  2 hours ", 7_200 * SECOND),
    ("\t1\nday \n", DAY),
    ("1 week -1 day", 6 * DAY),
    ("1 week - 1 day", 6 * DAY),
    ("-1 second 2 seconds", SECOND),
    ("+1 second", SECOND),
    ("1 day +1 hour 1 hour", 26 * 3_600 * SECOND),
    ("interval 1 day 2 hours", 93_600 * SECOND),
    ("Interval\t1 second", SECOND),
    ("INTERVAL '1' SECOND", SECOND),
    ("interval '5 minutes'", 300 * SECOND),
    ("interval'5 minutes'", 300 * SECOND),
    ("interval 1 day - 1 hour", 23 * 3_600 * SECOND),
    ("interval '1' day '2' hour", 26 * 3_600 * SECOND),
]
REFUSED = [
    *("", " ", "seconds", "10", "1 second and 2", "1e3 seconds", "1 sec", "1 ms", "1second", "1 second, 2 minutes"),
    *("1.5 hours", "1.5 minutes", "1.5 milliseconds", "1 hourss", "1 day+1 hour", "1 day-1 hour", ". seconds"),
    *("1.0000000001 seconds", "--1 second", "1..5 seconds", "٣ seconds", "1 second\u00a0", "5 seconds3 minutes"),
    *("-1 second", "interval -1 day", "-.5 seconds", "interval", "interval ", "interval1 second", "interval 1week"),
    *("interval interval 1 day", "interval (1) second", "interval 1 second + interval 1 second", "1 parsec"),
    *("99999999999 weeks", "106751992 days", "2147483648 days"),
]


def in_spark(spark: SparkSession, text: str) -> int | None:
    """The microseconds that Spark reads, if it takes the text as a delay."""
    source = spark.readStream.format("rate").load()
    try:
        source.withWatermark("timestamp", text)
    except Exception:  # whatever it is: parser, analyzer and runtime have no error in common
        return None
    jvm: Any = spark._jvm
    intervals = jvm.org.apache.spark.sql.catalyst.util.IntervalUtils
    unit = jvm.java.util.concurrent.TimeUnit.MICROSECONDS
    return int(intervals.getDuration(intervals.fromIntervalString(text), unit, 31))


@pytest.mark.parametrize(("text", "micros"), TAKEN)
def test_durations(text: str, micros: int) -> None:
    assert duration(text, where="window") == micros


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(QueryError, match=r"^window: "):
        duration(text, where="window")


def test_spark_reads_the_same(spark: SparkSession) -> None:
    assert {text: in_spark(spark, text) for text, _ in TAKEN} == dict(TAKEN)
    assert {text: in_spark(spark, text) for text in REFUSED} == dict.fromkeys(REFUSED)


@pytest.mark.parametrize("text", ["1 month", "2 years", "interval 3 months"])
def test_what_has_no_fixed_length_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="are not supported: they have no fixed length; use days"):
        duration(text, where="window")


@pytest.mark.parametrize("text", ["-1 second", f"{LONGEST_DURATION + 1} microseconds", "53375996 days"])
def test_the_range_is_named(text: str) -> None:
    with pytest.raises(QueryError, match=r"^window: expected a duration from 0 to 53375995 days, got"):
        duration(text, where="window")
    assert duration("53375995 days", where="window") <= LONGEST_DURATION


def test_an_unknown_unit_is_named() -> None:
    with pytest.raises(QueryError, match=r'the interval has the unit "parsecs"; expected one of .*, weeks$'):
        duration("5 parsecs", where="window")


@pytest.mark.parametrize("text", ["x" * 3_000, "interval " + "5 days " * 500 + "(", "5 " + "d" * 3_000])
def test_a_text_without_end_is_not_shown_whole(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        duration(text, where="window")
    assert len(str(caught.value)) < 1_000
