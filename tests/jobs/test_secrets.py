"""Secrets of a file are in nothing that is printed: canaries are put everywhere, and looked for in every text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config.config import load, write_resolved
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.error_text import explain_error
from eddy.redaction import HIDDEN, hide_secrets
from tests.house import ROOT

CANARY = "c4n4ry"

JAAS = f"org.apache.kafka.PlainLoginModule required username='me' password='{CANARY}1';"

JOB = f"""
[streams.a]
time = "ts"
[streams.a.source]
format = "kafka"
servers = "nowhere:{CANARY}2@127.0.0.1:1"
topic = "a"
schema = {{ ts = "timestamp", k = "bigint" }}
[streams.a.source.options]
kafka.sasl.jaas.config = "{JAAS}"
kafka.sasl.jass.config = "{JAAS}"
kafka.ssl.keystore.key = "-----BEGIN PRIVATE KEY----- {CANARY}3"
kafka.ssl.key.password = "{CANARY}4"
kafka.sasl.oauthbearer.assertion.private.key.passphrase = "{CANARY}"
kafka.sasl.oauthbearer.token.endpoint.url = "https://me:{CANARY}@there/token"
kafka.basic.auth.user.info = "me:{CANARY}5"
client = "token={CANARY}6 other=1"
[filters.f]
on = "a"
where = "k > 1"
[sink]
format = "kafka"
servers = "127.0.0.1:1"
topic = "b"
[sink.options]
kafka.sasl.jaas.config = "{JAAS}"
[checkpoint]
location = "PLACE/checkpoint"
[spark]
hadoop.fs.s3a.secret.key = "{CANARY}7"
hadoop.fs.azure.account.key.me = "{CANARY}8"
"spark.hadoop.fs.azure.sas.box.me" = "{CANARY}9"
""".replace(f"nowhere:{CANARY}2@", f"kafka://nowhere:{CANARY}2@")

WRONG = (
    "streams.a.source.options.kafka.ssl.key.password=[1",
    "sink.options.kafka.sasl.jaas.config=",
    "sink.options={ password = 1 }",
    "spark.hadoop.fs.s3a.secret.key.more=1",
    "streams.a.source.servers.more=1",
    "streams.a.source.per_trigger=many",
    "policy.token.more=1",
    f"={CANARY}",
    f"password={CANARY}",
    f"sink.password={CANARY}",
    f"sink.options.kafka.sasl.jaas.config.more={CANARY}",
    f"streams.a.source.servers.password={CANARY}",
    "streams.a.source.format=kafk",
    "sink.format=kafk",
    "sink=3",
)

BROKEN = {
    "options that are a text": ("[sink.options]\nkafka.sasl.jaas.config =", "options ="),
    "options that are a list": ("[sink.options]\n", "[[sink.options]]\n"),
    "a sink that is a list": ("[sink]\n", "[[sink]]\n"),
    "a key of a text that is a table": ('topic = "a"', f'topic = {{ password = "{CANARY}" }}'),
    "a key that is not known": ('topic = "a"', f'topic = "a"\npassword = "{CANARY}"'),
    "a word that is no password's": ('topic = "a"', f'topic = ["{JAAS}"]'),
    "a text that does not end": (f'key.password = "{CANARY}4"', f'key.password = "{CANARY}4'),
    "a value that is a list": (f'key.password = "{CANARY}4"', f'key.password = ["{CANARY}"]'),
}


def written(place: Path, text: str = JOB) -> Path:
    file = place / "job.toml"
    file.write_text(text.replace("PLACE", str(place)), "utf-8")
    return file


def test_every_value_is_shown_and_no_secret(tmp_path: Path) -> None:
    told = write_resolved(load(written(tmp_path)))
    assert told.count(HIDDEN) >= 12
    assert CANARY not in told


@pytest.mark.parametrize("command", ["validate", "validate --resolved", "explain"])
def test_no_command_tells_a_secret(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, *more = command.split()
    assert cli.main([name, str(written(tmp_path)), *more]) == 0
    told = capsys.readouterr()
    assert told.out
    assert CANARY not in told.out + told.err


@pytest.mark.parametrize("wrong", WRONG)
def test_no_mistake_tells_a_secret(wrong: str, tmp_path: Path) -> None:
    file = written(tmp_path, JOB.replace("[sink]", f'[policy]\nname = "fixed"\ntoken = "{CANARY}"\n[sink]'))
    with pytest.raises(QueryError) as caught:
        load(file, [from_command(wrong)])
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(("old", "new"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("command", ["validate", "explain"])
def test_no_command_tells_a_secret_of_a_broken_file(
    command: str, old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in JOB
    assert cli.main([command, str(written(tmp_path, JOB.replace(old, new, 1)))]) == cli.FAILED
    told = capsys.readouterr()
    assert "job.toml" in told.err
    assert CANARY not in told.out + told.err


@pytest.mark.parametrize("wrong", ["[1, 2]", "{ b = 1 }", "2024-01-01"])
def test_a_secret_of_a_wrong_type_is_not_told(wrong: str, tmp_path: Path) -> None:
    for key in ("password", "ssl.secret", "Token", "fs.s3a.access.key", "kafka.ssl.keystore.key"):
        bad = f'"{key}" = ["{CANARY}", {wrong}]\nkafka.ssl.key.password'
        with pytest.raises(QueryError) as caught:
            load(written(tmp_path, JOB.replace("kafka.ssl.key.password", bad, 1)))
        assert CANARY not in str(caught.value)


def test_what_a_filter_is_called_makes_no_secret_of_its_columns() -> None:
    values = {
        "filters": {"bad_token": {"on": "logins", "columns": ["body"]}},
        "functions": {"bad_token": {"on_error": "logins"}},
        "streams": {"tokens": {"source": {"options": {"password": CANARY}}}},
    }
    assert hide_secrets(f'logins: "body" {CANARY}', values) == f'logins: "body" {HIDDEN}'


@pytest.mark.parametrize("names", [("password", "token"), ("token", "password")])
def test_of_two_secrets_the_longer_is_hidden_first(names: tuple[str, str]) -> None:
    values = dict(zip(names, ("hush", "hush-hush"), strict=True))
    assert hide_secrets("logged in by hush-hush, not by hush", values) == f"logged in by {HIDDEN}, not by {HIDDEN}"


def test_a_secret_with_a_blank_is_hidden_whole() -> None:
    values = {"password": "hush and more"}
    told = explain_error(
        ValueError("login failed: password=hush and more, at host"), lambda text: hide_secrets(text, values)
    )
    assert told == f"error: login failed: password={HIDDEN}, at host"


def test_what_spark_says_is_told_without_the_secrets_of_the_file(tmp_path: Path) -> None:
    values = load(written(tmp_path)).values
    said = (
        f"cannot log in at kafka://nowhere:{CANARY}2@host with {JAAS} or {CANARY}3, {CANARY}4, me:{CANARY}5, {CANARY}7"
    )
    told = hide_secrets(said, values)
    assert hide_secrets("expected bigint", {"schema": {"token": "bigint"}}) == "expected bigint"
    assert CANARY not in told
    assert told.startswith("cannot log in at kafka://(hidden)@host with ")


@pytest.mark.parametrize(
    "text",
    [
        f"ConfigException: Invalid value kafka.ssl.key.password={CANARY}, topic=o",
        f"WriteToMicroBatchDataSource [kafka.sasl.jaas.config=Plain required password='{CANARY}';, topic=o]",
        f'WriteToMicroBatchDataSource [kafka.sasl.jaas.config=Plain required password="a\\"{CANARY}";, topic=o]',
        f"cannot reach https://me:{CANARY}@there/token, topic=o",
    ],
)
def test_what_spark_says_is_told_without_any_secret(text: str) -> None:
    told = explain_error(ValueError(text))
    assert HIDDEN in told
    assert "topic=o" in told
    assert CANARY not in told


@pytest.mark.long
def test_a_job_that_fails_tells_no_secret(tmp_path: Path) -> None:
    """Spark comes without the connector, so this ends when the source is made: with all options given."""
    file = written(tmp_path)
    command = [sys.executable, "-m", "eddy.jobs.cli", "run", str(file), "--", "--conf", "spark.ui.enabled=false"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: the job reads or writes Kafka" in done.stdout  # where spark-submit puts all that a job prints
    assert CANARY not in done.stdout + done.stderr
