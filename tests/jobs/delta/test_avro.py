"""Values in Avro, on the way out and on the way in, with the wire format of a schema registry before them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs.delta.test_merge import run
from tests.jobs.kafka.jars import Missing, avro

SCHEMA = """{"type": "record", "name": "r", "fields": [
    {"name": "sensor", "type": "long"}, {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}]}"""

JOB = """
[query]
name = "avro"
select = {columns}
[streams.s.source]
format = "parquet"
path = "{source}"
mode = "batch"
select = [{select}]
[filters.some]
on = "s"
where = "{where}"
[sink]
format = "spark"
name = "parquet"
path = "{sink}"
select = [{written}]
"""

MADE = f"""'''concat(X'0000000011', to_avro(struct(sensor, timestamp_micros(at) AS at), '{SCHEMA}')) AS value'''"""
READ = f"""'''inline(array(from_avro(substring(value, 6), '{SCHEMA}', map('mode', 'PERMISSIVE'))))'''"""
NUMBER = '"conv(hex(substring(value, 2, 4)), 16, 10) AS number"'


@pytest.mark.long
@pytest.mark.process
@pytest.mark.timeout(600)
def test_values_go_out_and_come_back(tmp_path: Path) -> None:
    try:
        jars = avro()
    except Missing as error:
        pytest.skip(f"no Avro to test with: {error}")
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"sensor": [1, 2, 3], "at": [10, 20, 30]}), tmp_path / "in" / "rows.parquet")
    out = JOB.format(
        columns='["s.sensor", "s.at"]', source="in", select="", where="sensor <> 2", sink="values", written=MADE
    )
    run(tmp_path, "out.toml", out, jars)
    back = JOB.format(
        columns='["s.sensor", "s.at", "s.number"]',
        source="values",
        select=f"{READ}, {NUMBER}",
        where="number = '17'",
        sink="back",
        written="",
    )
    run(tmp_path, "back.toml", back, jars)
    found = pq.read_table(tmp_path / "back")
    assert sorted(
        zip(found["sensor"].to_pylist(), found["at"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist(), strict=True)
    ) == [
        (1, 10),
        (3, 30),
    ]
