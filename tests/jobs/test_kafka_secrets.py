"""A password of Kafka is told by no command and in no error, whatever is wrong with the place that it stands in."""

from __future__ import annotations

from pathlib import Path

import pytest

from eddy.jobs import cli
from eddy.jobs.run.error_text import explain_error

HUSH = "hush4711"

JAAS = f"""'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{HUSH}";'"""

JOB = f"""
[streams.s]
time = "at"
[streams.s.source]
format = "kafka"
servers = "localhost:9092"
topic = "t"
schema = {{ at = "timestamp", v = "bigint" }}
[streams.s.source.options]
kafka.sasl.jaas.config = {JAAS}
kafka.sasl.jass.config = {JAAS}
kafka.ssl.keystore.password = "{HUSH}"
kafka.ssl.keystore.key = "-----BEGIN PRIVATE KEY----- {HUSH}"
kafka.sasl.oauthbearer.assertion.private.key.passphrase = "{HUSH}"
kafka.sasl.oauthbearer.token.endpoint.url = "https://me:{HUSH}@there/token"
[checkpoint]
location = "build/nowhere"
[sink]
format = "kafka"
servers = "localhost:9092"
topic = "o"
[sink.options]
kafka.sasl.jaas.config = {JAAS}
"""

WRONG = {
    "options that are a text": ("[sink.options]\nkafka.sasl.jaas.config =", "options ="),
    "options that are a list": ("[sink.options]\n", "[[sink.options]]\n"),
    "a sink that is a list": ("[sink]\n", "[[sink]]\n"),
    "a key of a text that is a table": ('topic = "t"', f'topic = {{ password = "{HUSH}" }}'),
    "a key that is not known": ('topic = "t"', f'topic = "t"\npassword = "{HUSH}"'),
    "a word that is no password's": ('topic = "t"', f"topic = [{JAAS}]"),
    "a text that does not end": (f'password = "{HUSH}"', f'password = "{HUSH}'),
    "a list of options' values": (f'keystore.key = "-----BEGIN PRIVATE KEY----- {HUSH}"', f'keystore.key = ["{HUSH}"]'),
}


def commands(file: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[list[int], str]:
    asked = (["validate", str(file), "--resolved"], ["explain", str(file)])
    ended = [cli.main([*one, *more]) for one in asked]
    said = capsys.readouterr()
    return ended, said.out + said.err


def test_a_right_job_is_told_without_its_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    ended, said = commands(tmp_path / "job.toml", capsys)
    assert ended == [0, 0]
    assert said.count("(hidden)") == 7
    assert HUSH not in said


@pytest.mark.parametrize(("old", "new"), WRONG.values(), ids=WRONG)
def test_a_wrong_job_is_told_without_its_secrets(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in JOB
    (tmp_path / "job.toml").write_text(JOB.replace(old, new, 1))
    ended, said = commands(tmp_path / "job.toml", capsys)
    assert ended == [cli.FAILED, cli.FAILED]
    assert "job.toml" in said
    assert HUSH not in said


@pytest.mark.parametrize(
    "text",
    [
        f"sink.options.kafka.sasl.jaas.config.more={HUSH}",
        f"={JAAS}",
        f"password={HUSH}",
        f"sink.password={HUSH}",
        f"streams.s.source.servers.password={HUSH}",
    ],
)
def test_what_is_set_from_outside_is_not_told(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    _, said = commands(tmp_path / "job.toml", capsys, "--set", text)
    assert HUSH not in said


@pytest.mark.parametrize(
    "text",
    [
        f"ConfigException: Invalid value kafka.ssl.key.password={HUSH}, topic=o",
        f"WriteToMicroBatchDataSource [kafka.sasl.jaas.config=Plain required password='{HUSH}';, topic=o]",
        f'WriteToMicroBatchDataSource [kafka.sasl.jaas.config=Plain required password="a\\"{HUSH}";, topic=o]',
        f"cannot reach https://me:{HUSH}@there/token, topic=o",
    ],
)
def test_what_spark_tells_is_told_without_it(text: str) -> None:
    assert "(hidden)" in explain_error(ValueError(text))
    assert "topic=o" in explain_error(ValueError(text))
    assert HUSH not in explain_error(ValueError(text))
