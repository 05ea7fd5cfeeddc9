"""Logs as JSON, and metrics as Prometheus scrapes them and a collector of OpenTelemetry gets them."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import logging
import re
import socket
import threading
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from pyspark.sql import SparkSession

from eddy.errors import QueryError, warn
from eddy.jobs import cli
from eddy.jobs.config.config import load
from eddy.jobs.run import run_job
from eddy.jobs.run.log_lines import PACKAGE_LOGGER, log_as_json, log_error
from eddy.jobs.run.stopping import Stop
from eddy.jobs.run.watching import LogTeller, open_metrics
from eddy.spark.monitoring import SentMetrics, ServedMetrics, news
from eddy.spark.monitoring.metrics import METRICS
from eddy.spark.versions import HAS_READ_LIMITS
from tests.house import ROOT

CANARY = "c4n4ry"

JOB = """
[query]
name = "watched"
select = ["web.at"]
[streams.web]
time = "at"
delay = "10 seconds"
source = {{ format = "workload", kind = "web", per_trigger = 200, parameters = {{ rows = 400 }} }}
[filters.large]
on = "web"
where = "size > 1000"
[filters.scripted]
on = "web"
function = "eddy.jobs.workloads.web:looks_scripted"
columns = ["agent"]
[engine]
cells = 2
pushdown = false
[trigger]
available_now = true
[sink]
format = "noop"
[spark]
eddy.password = "{canary}"
[metrics]
prometheus = {{ port = 0 }}
otel = {{ endpoint = "http://127.0.0.1:{port}/v1/metrics", every = "1 hour" }}
"""


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """A job sets loggers and warnings for its whole process."""
    logger, show = logging.getLogger(PACKAGE_LOGGER), warnings.showwarning
    yield
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate, warnings.showwarning = True, show


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        cast("CollectorServer", self.server).bodies.append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


class CollectorServer(http.server.HTTPServer):
    bodies: list[bytes]


@pytest.fixture
def collector() -> Iterator[CollectorServer]:
    server = CollectorServer(("127.0.0.1", 0), Collector)
    server.bodies = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def scrape(port: int) -> dict[str, float]:
    """What Prometheus would read, by the name of a metric and its labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    pairs = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs if "_created" not in name}


def received(body: bytes) -> dict[tuple[str, str], float]:
    """What a collector got, by the name of a metric and its labels."""
    request = ExportMetricsServiceRequest()
    request.ParseFromString(body)
    (metrics,) = [scope.metrics for resource in request.resource_metrics for scope in resource.scope_metrics]
    found = {}
    for metric in metrics:
        for point in (metric.gauge if metric.HasField("gauge") else metric.sum).data_points:
            labels = " ".join(sorted(f"{one.key}={one.value.string_value}" for one in point.attributes))
            found[metric.name, labels] = point.as_int if point.HasField("as_int") else point.as_double
    return found


def test_a_job_is_watched_by_all_of_them(
    spark: SparkSession, tmp_path: Path, collector: CollectorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "job.toml", io.StringIO()
    file.write_text(JOB.format(port=collector.server_port, canary=f"{CANARY} ${{EDDY_TEST}}"), "utf-8")
    monkeypatch.setenv("EDDY_TEST", CANARY)
    job = load(file)
    teller = LogTeller()
    log_as_json(job.hide, {"query": job.query.name, "policy": job.policy["name"]}, out)
    with open_metrics(job, teller):
        teller.begin(job)
        run_job.run_stream(job, spark, Stop(), teller)
        found = [json.loads(line) for line in out.getvalue().splitlines()]
        (port,) = re.findall(r":(\d+)/metrics", found[0]["message"])
        served = scrape(int(port))
    assert CANARY not in out.getvalue()
    check_log(found)
    batches = [one for one in found if one["event"] == "batch"]
    check_served(served, batches)
    sent = received(collector.bodies[-1])
    assert sent["eddy.rows", "query=watched step=attach stream=web"] == 400
    assert sent["eddy.results", "query=watched step=attach"] == sum(one["results"] for one in batches)
    with pytest.raises(OSError, match="refused"):  # it is over with the job
        scrape(int(port))
    assert news.HEARERS == []


def check_log(found: list[dict[str, Any]]) -> None:
    batches = [one for one in found if one["event"] == "batch"]
    # An older Spark has no limits for sources in Python: a workload comes in one micro-batch.
    expected = [(0, 200, "auto"), (1, 200, "auto")] if HAS_READ_LIMITS else [(0, 400, "auto")]
    assert [(one["batch"], one["rows"], one["policy"]) for one in batches] == expected
    (start,) = [one for one in found if one["event"] == "start"]
    assert start["config"]["engine.cells"] == {"value": "2", "from": "line 17"}
    assert start["config"]['spark."eddy.password"']["value"] == "(hidden)"
    (end,) = [one for one in found if one["event"] == "end"]
    assert (end["rows"], end["results"]) == (400, sum(one["results"] for one in batches))


def check_served(served: dict[str, float], batches: list[dict[str, Any]]) -> None:
    whose = 'query="watched",step="attach"'
    assert served[f"eddy_batches_total{{{whose}}}"] == len(batches)
    assert served[f'eddy_rows_total{{{whose},stream="web"}}'] == 400
    assert served[f"eddy_results_total{{{whose}}}"] == sum(one["results"] for one in batches) > 0
    assert served[f'eddy_operator_rows_in_total{{operator="scripted",{whose}}}'] > 0
    assert served[f"eddy_state_size_bytes{{{whose}}}"] == batches[-1]["state_bytes"] > 0


def test_a_log_has_warnings_and_errors_and_no_value_of_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    log_as_json(lambda text: text.replace(CANARY, "(hidden)"), {"query": "q"}, out)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        log_as_json(lambda text: text.replace(CANARY, "(hidden)"), {"query": "q"}, out)
        warn(f"odd: {CANARY}")
    log_error(f'error: wrong: "{CANARY}"')
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(one["level"], one["event"], one["message"]) for one in told] == [
        ("warning", "warning", "odd: (hidden)"),
        ("error", "error", 'wrong: "(hidden)"'),
    ]
    assert not logging.getLogger().handlers or logging.getLogger().handlers != logging.getLogger("eddy").handlers
    assert "odd" not in capsys.readouterr().err


def test_a_wrong_job_is_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(tmp_path / "none.toml"), "--log-format", "json"]) == cli.FAILED
    told = json.loads(capsys.readouterr().err)
    assert (told["level"], told["event"]) == ("error", "error")
    assert "cannot be read" in told["message"]


def test_without_a_logger_nothing_is_heard() -> None:
    """What an application has not asked for, the library neither prints nor puts together."""
    assert not news.is_heard()
    assert logging.getLogger("eddy").handlers == []


def test_a_taken_port_is_one_error() -> None:
    with ServedMetrics(0) as first, pytest.raises(QueryError, match=r"cannot be served at 127\.0\.0\.1:\d+: .*in use"):
        ServedMetrics(first.port)
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(QueryError, match="take another port"):
        ServedMetrics(other.getsockname()[1])
    assert news.HEARERS == []


WRONG: dict[str, tuple[Any, str]] = {
    "a port too large": ("prometheus = { port = 70_000 }", "metrics.prometheus.port: expected a whole number from 0"),
    "a host alone": ('prometheus = { host = "0.0.0.0" }', "metrics.prometheus.port: expected a value, got none"),
    "no URL": ('otel = { endpoint = "box:4318" }', "metrics.otel.endpoint: expected a URL such as"),
    "no interval": ('otel = { endpoint = "http://box", every = "0 seconds" }', "metrics.otel.every: expected a dur"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_before_the_start(case: str, tmp_path: Path) -> None:
    text, told = WRONG[case]
    file = tmp_path / "job.toml"
    file.write_text(f"{JOB.format(port=1, canary='').partition('[metrics]')[0]}[metrics]\n{text}\n", "utf-8")
    with pytest.raises(QueryError) as caught:
        load(file)
    assert told in str(caught.value)


def test_a_collector_that_is_away_ends_no_query() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    SentMetrics(f"http://127.0.0.1:{port}/v1/metrics").close()


def test_the_page_names_every_metric() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    for metric in METRICS:
        assert f"| `{metric.name}` |" in page
