"""What is known of a frame that `eddy.where` gave, for reports and explanations.

A frame has no place for it: it is noted beside the frame, and forgotten with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eddy.observe.report import Report


@dataclass(frozen=True)
class FrameNote:
    """What a step is called, the text that explains it, its report, and the rows that were put aside.

    There is a report once the rows were asked for, and rows aside only if a predicate puts some there. `judged` is the
    frame of Spark that the answer and those rows are both taken from: who keeps it asks the predicates once for both.
    """

    name: str
    text: str
    read_report: Callable[[], Report]
    read_rejected: Callable[[], Any] | None = None
    judged: Any = None


NOTES: dict[int, FrameNote] = {}


def note_frame(frame: Any, note: FrameNote) -> None:
    """Note something about a frame for as long as it lives."""
    NOTES[id(frame)] = note
    weakref.finalize(frame, NOTES.pop, id(frame), None)


def find_note(frame: object) -> FrameNote | None:
    """Find what was noted about a frame."""
    return NOTES.get(id(frame))
