"""Random statements are read, written and read again; what Spark makes of them is in `tests/eddy/spark`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.errors import QueryError
from tests.statement_parts import STREAMS, TABLES, Asked, list_columns
from tests.statements import statements

VIEWS = {view.lower(): list_columns(view) for view in STREAMS | TABLES}


def read(asked: Asked) -> eddy.Statement:
    """A statement, as one to which the columns of the views are known."""
    streams = [eddy.Stream(view, time="at", delay=f"{delay} seconds") for view, delay in asked.told.items()]
    found = eddy.Statement(asked.text, streams=streams)
    return found.with_columns({alias: VIEWS.get(name.lower(), []) for alias, name in found.sources.items()})


@given(asked=statements())
def test_random_statements_are_read_and_written_back(asked: Asked) -> None:
    said = read(asked)
    text = said.query.sql()
    again = eddy.Statement(text, streams=said.query.streams)
    assert again.query == said.query
    assert again.query.sql() == text
    assert (said.after is None) <= (asked.kind == "rows")
    assert (said.after is None or said.after.time is not None) >= (asked.kind != "rows")


PIECES = st.text(max_size=5) | st.sampled_from(
    [
        *"()[],.`'*-;{}\0",
        *("SELECT ", " FROM ", " JOIN ", " WHERE ", " GROUP BY ", " HAVING ", " OVER ", " -> ", " AS ", " USING ("),
        *(" WATERMARK ", " STREAM ", "/*", "--", "/*+ ", "0", "'x' ", "window(", "ALL", " INTERVAL 1 DAY "),
    ]
)


@given(asked=statements(), start=st.integers(0, 1_500), length=st.integers(0, 30), piece=PIECES)
def test_what_is_cut_and_patched_is_read_or_refused(asked: Asked, start: int, length: int, piece: str) -> None:
    text = asked.text[:start] + piece + asked.text[start + length :]
    with suppress(QueryError):
        _ = read(replace(asked, text=text)).after
