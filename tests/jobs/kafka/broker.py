"""One broker that is its own controller, on this machine alone; it ends with the process that started it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

PATIENCE = 60
"""Seconds for the broker to come up, or to answer: much more than it needs, so that a hang is an error."""

TRIES = 3
"""Starts of a broker: somebody else may take a port in the moment in which it is free."""

CLUSTER = "ZWRkeS1lZGR5LWVkZHkhIQ"
"""The name of the cluster: 16 bytes in base 64, any."""

QUICK = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For a JVM that lives for a minute: compiling thoroughly and collecting in threads cannot pay off."""

USER, PASSWORD = "eddy", "hush-hush-4711"
"""The login that the second address asks for."""

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

SETTINGS = """
process.roles = broker,controller
node.id = 1
controller.quorum.voters = 1@127.0.0.1:{control}
controller.listener.names = CONTROL
listeners = OPEN://127.0.0.1:{open},LOGIN://127.0.0.1:{login},CONTROL://127.0.0.1:{control}
listener.security.protocol.map = OPEN:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROL:PLAINTEXT
inter.broker.listener.name = OPEN
sasl.enabled.mechanisms = PLAIN
listener.name.login.plain.sasl.jaas.config = {plain} required user_{user}="{password}";
log.dirs = {place}
log.retention.ms = -1
offsets.topic.num.partitions = 1
offsets.topic.replication.factor = 1
transaction.state.log.num.partitions = 1
transaction.state.log.replication.factor = 1
transaction.state.log.min.isr = 1
"""

KEEPER = """
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
threading.Thread(target=lambda: os._exit(child.wait()), daemon=True).start()
sys.stdin.read()
child.kill()
"""
"""Starts a program and kills it when the other end of its input is gone, for whatever reason."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message to send; `at` is its time in milliseconds, and 0 is now."""

    value: str | bytes | None
    key: str | None = None
    at: int = 0
    partition: int = 0


@dataclass(frozen=True, kw_only=True)
class Broker:
    """Two addresses of one broker: anybody may use the first, the second asks who it is."""

    servers: str
    login: str

    def topics(self, *names: str, partitions: int = 1) -> None:
        """Make topics."""
        client = AdminClient({"bootstrap.servers": self.servers})
        for made in client.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
            made.result(PATIENCE)

    def send(self, topic: str, messages: Sequence[Sent], **settings: str) -> Producer:
        """Write messages, each to its partition; gives the producer, whose transaction may be open."""
        producer = Producer({"bootstrap.servers": self.servers, **settings})
        if settings:
            producer.init_transactions(PATIENCE)
            producer.begin_transaction()
        refused = []
        for one in messages:
            producer.produce(
                topic,
                one.value,
                one.key,
                one.partition,
                on_delivery=lambda error, _: refused.append(error) if error else None,
                timestamp=one.at,
            )
            producer.poll(0)
        assert (producer.flush(PATIENCE), refused) == (0, [])
        return producer

    def count(self, topic: str) -> int:
        """How many messages a topic has had."""
        with self._consumer() as consumer:
            return sum(consumer.get_watermark_offsets(one, PATIENCE)[1] for one in self._partitions(consumer, topic))

    def read(self, topic: str) -> list[Message]:
        """All messages of a topic."""
        with self._consumer() as consumer:
            places = self._partitions(consumer, topic)
            consumer.assign(places)
            left = {one.partition: consumer.get_watermark_offsets(one, PATIENCE)[1] for one in places}
            found: list[Message] = []
            while len(found) < sum(left.values()):
                message = consumer.poll(PATIENCE)
                assert message is not None, f"{len(found)} of {left}"
                assert message.error() is None, message.error()
                found.append(message)
            return found

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "tests"})
        try:
            yield consumer
        finally:
            consumer.close()

    def _partitions(self, consumer: Consumer, topic: str) -> list[TopicPartition]:
        numbers = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
        return [TopicPartition(topic, number, 0) for number in numbers]


@contextmanager
def broker(place: Path, jars: Sequence[Path]) -> Iterator[Broker]:
    """A broker with nothing in it."""
    folders = [place / str(number) for number in range(TRIES)]
    for folder in folders:
        folder.mkdir()
        open_, login, control = _ports(3)
        process = _started(folder, jars, {"open": open_, "login": login, "control": control})
        up = Broker(servers=f"127.0.0.1:{open_}", login=f"127.0.0.1:{login}")
        try:
            if _answers(up, process):
                yield up
                return
        finally:
            process.communicate()
    raise RuntimeError(f"no broker came up:\n{(folders[-1] / 'log').read_text('utf-8')}")


def _ports(count: int) -> list[int]:
    """Ports that nobody has, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


def _started(folder: Path, jars: Sequence[Path], ports: dict[str, int]) -> subprocess.Popen[bytes]:
    settings = folder / "broker.properties"
    login = {"plain": PLAIN, "user": USER, "password": PASSWORD}
    settings.write_text(SETTINGS.format(place=folder / "data", **ports, **login))
    java = ["java", *QUICK, "-cp", ":".join(map(str, jars))]
    with (folder / "log").open("w") as log:
        formatting = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)]
        subprocess.run(formatting, stdout=log, stderr=log, check=True, timeout=PATIENCE)
        serving = [sys.executable, "-c", KEEPER, *java, "kafka.Kafka", str(settings)]
        return subprocess.Popen(serving, stdin=subprocess.PIPE, stdout=log, stderr=log)


def _answers(up: Broker, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the broker answers; False if it has ended instead."""
    client, end = AdminClient({"bootstrap.servers": up.servers, "log_level": "0"}), time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.list_topics(timeout=1).brokers:
                return True
        except KafkaException:
            continue
    return False
