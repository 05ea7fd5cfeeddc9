"""Which package a connector comes in: Spark says only that it has none."""

from __future__ import annotations

import re

import pyspark

VERSION = pyspark.__version__
SHORT = ".".join(VERSION.split(".")[:2])

PACKAGES = {
    "kafka": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{VERSION}",
    "avro": f"org.apache.spark:spark-avro_2.13:{VERSION}",
    "protobuf": f"org.apache.spark:spark-protobuf_2.13:{VERSION}",
    "delta": f"io.delta:delta-spark_{SHORT}_2.13:VERSION",
    "iceberg": f"org.apache.iceberg:iceberg-spark-runtime-{SHORT}_2.13:VERSION",
    "mongodb": "org.mongodb.spark:mongo-spark-connector_2.13:VERSION",
    "bigquery": "com.google.cloud.spark:spark-bigquery-with-dependencies_2.13:VERSION",
    "snowflake": "net.snowflake:spark-snowflake_2.13:VERSION",
}
"""Packages by Spark's name of their format; those of Spark itself have its version."""

_NO_FORMAT = re.compile(r"[Ff]ailed to find (?:the )?data source: (\S+?)\.?(?:\s|$)")
_NO_FUNCTIONS = re.compile(r"\[(AVRO|PROTOBUF)_NOT_LOADED")
_NO_DRIVER = "java.sql.SQLException: No suitable driver"


def describe_missing(text: str) -> str | None:
    """Say which package is missing, if that is what an error of Spark means.

    >>> describe_missing("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: odd. Make sure").partition(";")[0]
    'Spark knows no format "odd"'
    """
    found = _NO_FORMAT.search(text) or _NO_FUNCTIONS.search(text)
    if found is not None:
        name = found[1].lower()
        if name in PACKAGES:
            what = f"the job reads or writes {name.capitalize()}, and Spark comes without its connector"
            return f"{what}; {_write_hint(PACKAGES[name], name)}"
        return (
            f'Spark knows no format "{found[1]}"; check its name, or if it comes in a package, '
            f"{_write_hint('GROUP:ARTIFACT:VERSION', '')}"
        )
    if _NO_DRIVER in text:
        return (
            "no driver of JDBC fits the url; check it, and "
            f"{_write_hint('GROUP:ARTIFACT:VERSION', '')}; options.driver names its class"
        )
    return None


def _write_hint(package: str, name: str) -> str:
    more = "; docs/kafka.md says what to do without a network" if name == "kafka" else ""
    how = f'add "--packages {package}" to spark-submit, or start the job with "eddy run JOB -- --packages {package}"'
    return how + more
