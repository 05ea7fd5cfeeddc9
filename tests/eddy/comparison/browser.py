"""A browser without a window, driven through a pipe: what a page shows, complains of and asks for."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")

PATIENCE = 60.0
"""Seconds that the browser may take to answer on a busy machine; it takes one."""

IN, OUT = 3, 4
"""The file descriptors that the browser reads commands from, and writes answers to."""


def found() -> str | None:
    """Where a browser is."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page, and everything that the browser told of it."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []

    def open(self, page: Path) -> None:
        """Show a file, and wait until it is there."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is, in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self) -> list[Any]:
        """What the page wrote to the console, and what went wrong in it."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [event["params"] for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """The addresses that the page asked for, those that hold their own content left out."""
        sent = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    def picture(self, place: Path, width: int, height: int) -> None:
        """What a window of that size shows."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        place.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command; events that come before its answer are kept."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters}
        command |= {"sessionId": self._session} if self._session else {}
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                assert "error" not in message, message
                answer: dict[str, Any] = message["result"]
                return answer
            self.events.append(message)

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(end - time.monotonic(), 0))
            read = os.read(self._answers, 1 << 16) if ready else b""
            if not read:
                raise TimeoutError("the browser gave no answer")
            self._rest += read
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message


@contextmanager
def browser(place: Path) -> Iterator[Browser]:
    """A browser with a profile of its own, and no network."""
    command = [
        *(str(found()), "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
        *("--no-sandbox", "--disable-dev-shm-usage", "--proxy-server=127.0.0.1:9"),  # nobody listens there
        *(f"--user-data-dir={place}", "--remote-debugging-pipe", "about:blank"),
    ]
    (its_in, commands), (answers, its_out) = os.pipe(), os.pipe()
    script = f'exec "$@" {IN}<&{its_in} {OUT}>&{its_out}'
    process = subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(its_in, its_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(its_in)
    os.close(its_out)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)
        os.close(answers)
        process.terminate()
        process.wait(PATIENCE)
