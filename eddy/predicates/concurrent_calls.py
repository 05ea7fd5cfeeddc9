"""Calls of a row function, several at once, for functions that wait: for a service, a model, a disk.

Answers come in the order of the rows, whichever call ends first, and a call that raises is the answer of its row. An
ordinary function is called in threads, an asynchronous one in an event loop of this process, which stays, so that a
connection that a `setup` or a first call has opened there is still good for the next.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

ASYNC_AT_ONCE = 16
"""Calls of an asynchronous function at once, if nobody says: it is written for several, and services bear so many."""

AHEAD = 4
"""Rows that have been handed out or answered ahead of the first one that is awaited, in times of the calls at once: a
call that takes some times longer than the others holds nobody up."""

LOOPS: dict[int, asyncio.AbstractEventLoop] = {}
"""The event loop of this process, by its number: one that was forked has its parent's, and nobody runs it."""

Submit = Callable[[tuple[Any, ...]], "Future[Any]"]


@contextmanager
def open_calls(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], at_once: int | None
) -> Iterator[Iterator[Any]]:
    """Give an iterator over a function's answers; it goes on behind an answer that raises."""
    if at_once is None:
        yield itertools.starmap(function, arguments)
    elif is_async(function):
        yield from _answers_of_loop(function, arguments, at_once)
    else:
        yield from _answers_of_threads(function, arguments, at_once)


def is_async(function: Any) -> bool:
    """Tell whether a function is one that an event loop calls."""
    inner = inspect.unwrap(getattr(function, "func", function))
    called = inner if inspect.isroutine(inner) else type(inner).__call__
    return inspect.iscoroutinefunction(called)


def _answers_of_threads(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], at_once: int
) -> Iterator[Iterator[Any]]:
    executor = ThreadPoolExecutor(at_once, "eddy-call")
    try:
        yield _Answers(lambda row: executor.submit(function, *row), arguments, at_once * AHEAD)
    finally:
        # Calls that have begun end by themselves; nobody waits for them, since one of them may be why this is over.
        executor.shutdown(wait=False, cancel_futures=True)


def _answers_of_loop(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], at_once: int
) -> Iterator[Iterator[Any]]:
    loop, begun = _find_loop(), set[Future[Any]]()
    free = asyncio.Semaphore(at_once)

    async def call(row: tuple[Any, ...]) -> Any:
        async with free:
            return await function(*row)

    def submit(row: tuple[Any, ...]) -> Future[Any]:
        calling: Coroutine[Any, Any, Any] = call(row)
        future = asyncio.run_coroutine_threadsafe(calling, loop)
        begun.add(future)
        future.add_done_callback(begun.discard)
        return future

    try:
        yield _Answers(submit, arguments, at_once * AHEAD)
    finally:
        for future in list(begun):
            future.cancel()


class _Answers(Iterator[Any]):
    """The answers in the order of the rows."""

    def __init__(self, submit: Submit, arguments: Iterable[tuple[Any, ...]], ahead: int) -> None:
        self._submit = submit
        self._rows = iter(arguments)
        self._ahead = ahead
        self._begun: deque[Future[Any]] = deque()

    def __next__(self) -> Any:
        for row in itertools.islice(self._rows, self._ahead - len(self._begun)):
            self._begun.append(self._submit(row))
        if not self._begun:
            raise StopIteration
        return self._begun.popleft().result()


def _find_loop() -> asyncio.AbstractEventLoop:
    process = os.getpid()
    if process not in LOOPS:
        LOOPS.clear()
        loop = LOOPS[process] = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="eddy-loop", daemon=True).start()
    return LOOPS[process]
