"""One broker for all tests; where its jars cannot be had, they are skipped and say why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jobs.kafka import jars
from tests.jobs.kafka.broker import Broker, broker


@pytest.fixture(scope="session")
def fetched() -> jars.Jars:
    try:
        return jars.jars()
    except jars.Missing as error:
        pytest.skip(f"no broker of Kafka to test with: {error}")


@pytest.fixture(scope="session")
def kafka(fetched: jars.Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker(tmp_path_factory.mktemp("kafka"), fetched.broker) as up:
        yield up
