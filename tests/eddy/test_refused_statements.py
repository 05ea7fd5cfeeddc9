"""What a statement cannot say: one error with the place, what to write instead, and where that belongs."""

from __future__ import annotations

import time

import pytest

import eddy
from eddy.errors import QueryError

COLUMNS = {
    "o": ["id", "user", "price", "at", "day", "n"],
    "c": ["user", "page", "at", "n"],
    "u": ["id", "country"],
}

JOINED = (
    "FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE AS o "
    "JOIN STREAM clicks WATERMARK at DELAY OF INTERVAL 1 MINUTE AS c ON o.user = c.user AND c.at <= o.at"
)
ONE = "FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE AS o"
BOUNDED = "FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE [ROWS 1] AS o"

BEFORE, AFTER = "before the eddy", "after the eddy"

REFUSED = [
    # Joins that tell what has no match.
    (f"SELECT o.id {ONE} LEFT JOIN users AS u ON u.id = o.user", "LEFT", f"only inner joins .* belongs {AFTER}"),
    (f"SELECT o.id {ONE} LEFT OUTER JOIN users AS u ON u.id = o.user", "LEFT", "only inner joins are there"),
    (f"SELECT o.id {ONE} RIGHT JOIN users AS u ON u.id = o.user", "RIGHT", "only inner joins are there"),
    (f"SELECT o.id {ONE} FULL JOIN users AS u ON u.id = o.user", "FULL", "only inner joins are there"),
    (f"SELECT o.id {ONE}, LATERAL (SELECT 1) AS u", "LATERAL", f"belongs {BEFORE}, as columns of an input"),
    (f"SELECT o.id {ONE} JOIN LATERAL (SELECT 1) AS u", "LATERAL", f"belongs {BEFORE}"),
    (f"SELECT o.id {ONE} LATERAL VIEW explode(o.list) t AS x", "LATERAL", f"belongs {BEFORE}"),
    (f"SELECT o.id {ONE} NATURAL JOIN users AS u", "NATURAL", r"name the columns, with USING \(\.\.\)"),
    (f"SELECT o.id {ONE} LEFT SEMI JOIN STREAM clicks AS c ON c.user = o.user", "STREAM clicks", "asks a table"),
    # Several statements in one, and what a stream has no end for.
    (f"SELECT o.id {ONE} UNION ALL SELECT o.id {ONE}", "UNION", f"unite what they give {AFTER}, or .* {BEFORE}"),
    (f"SELECT o.id {ONE} EXCEPT SELECT o.id {ONE}", "EXCEPT", f"LEFT ANTI JOIN with a table; .* {AFTER}"),
    (f"SELECT o.id {ONE} INTERSECT SELECT o.id {ONE}", "INTERSECT", "LEFT SEMI JOIN with a table"),
    (f"SELECT o.id {ONE} ORDER BY o.id", "ORDER", "sort what a sink has"),
    (f"SELECT o.id {ONE} CLUSTER BY o.id", "CLUSTER", "sort what a sink has"),
    (f"SELECT o.id {ONE} LIMIT 3", "LIMIT", "limit what a sink has"),
    (
        f"SELECT row_number() OVER (PARTITION BY o.user ORDER BY o.at) AS r {ONE}",
        "OVER",
        "rank the rows in what a sink",
    ),
    (f"SELECT sum(o.price) OVER w AS s {ONE} WINDOW w AS (PARTITION BY o.user)", "OVER", "GROUP BY window"),
    (f"SELECT o.id {ONE} WINDOW w AS (PARTITION BY o.user)", "WINDOW", "rank the rows in what a sink has"),
    # Groups in other places.
    (
        "SELECT o.id FROM (SELECT user, count(*) AS n FROM STREAM orders GROUP BY user) AS o",
        "(SELECT user",
        f"a subquery here selects, projects and filters one input; .* belongs {BEFORE}",
    ),
    (f"SELECT o.id {ONE} WHERE count(*) > 1", "count", "an expression looks at one row at a time"),
    (f"SELECT o.user, count(*) AS n {ONE} GROUP BY o.user", "o.user", f"no group ever closes; .* group them {AFTER}"),
    (f"SELECT count(*) AS n {ONE} GROUP BY 2", "2", "GROUP BY without a time"),
    (f"SELECT DISTINCT o.user {ONE}", "o.user", "DISTINCT without a time"),
    (f"SELECT count(*) AS n {JOINED} GROUP BY o.at, c.at", "o.at, c.at", "groups close by one time"),
    (f"SELECT count(*) AS n {ONE} HAVING count(*) > 1", "HAVING", "HAVING goes with GROUP BY"),
    # Subqueries beside those that are inlined.
    (
        f"SELECT o.id {ONE} WHERE o.user IN (SELECT id FROM users)",
        "SELECT",
        "ask it for a match by a semi or anti join",
    ),
    (f"SELECT o.id {ONE} WHERE EXISTS (SELECT 1 FROM users)", "EXISTS (", "ask it for a match by a semi or anti join"),
    (f"SELECT o.id {ONE} WHERE o.price > (SELECT 1)", "SELECT", "subqueries are not supported"),
    (f"SELECT (SELECT max(id) FROM users) AS m {ONE}", "SELECT", f"LEFT SEMI or LEFT ANTI JOIN; .* {BEFORE}"),
    (f"SELECT count(*) AS n {ONE} GROUP BY o.at HAVING count(*) > (SELECT 1)", "SELECT", f"belongs {BEFORE}"),
    # What Flink has.
    ("SELECT 1 FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE))", "(", f'"TUMBLE" .* {AFTER}'),
    ("SELECT 1 FROM HOP(orders, 5)", "(", r"by GROUP BY window\(at, '10 minutes', '1 minute'\)"),
    ("SELECT 1 FROM explode(orders)", "(", f"give what it makes a name {BEFORE}"),
    (
        f"SELECT count(*) AS n {ONE} GROUP BY TUMBLE(o.at, INTERVAL '1' MINUTE)",
        "TUMBLE",
        f"Spark groups {AFTER}, by win",
    ),
    (f"SELECT TUMBLE_START(o.at, INTERVAL '1' DAY) AS s {ONE} GROUP BY o.at", "TUMBLE_START", r"by window\.start"),
    (f"SELECT count(*) AS n {ONE} GROUP BY session(o.at, INTERVAL '1' MINUTE)", "session", "by session_window"),
    # Names.
    (f"SELECT o.id {JOINED} WHERE n > 1", "n", 'column "n" is in "o", "c"; write o.n or the like'),
    (f"SELECT n {JOINED}", "n", 'column "n" is in "o", "c"; write o.n or the like'),
    (f"SELECT n + 1 AS m {JOINED}", "n", 'column "n" is in "o", "c"; write o.n or the like'),
    (f"SELECT o.id {ONE} JOIN users AS o ON o.id = o.user", "users AS o", 'two inputs are called "o"'),
    (f"SELECT o.id {ONE} WHERE sudden(o.id)", "sudden", 'unknown function "sudden"'),
    (f"SELECT o.id {ONE} WHERE asked(o.id) OR o.id = 1", "asked(o.id)", "stands alone between ANDs"),
    (f"SELECT asked(o.id) AS a {ONE}", "asked", "it stands in WHERE"),
    # Times and windows.
    (
        "SELECT o.id FROM STREAM orders WATERMARK date_trunc('hour', at) AS t DELAY OF INTERVAL 1 DAY AS o",
        "date_trunc",
        BEFORE,
    ),
    ("SELECT o.id FROM STREAM orders WATERMARK at + INTERVAL 1 DAY DELAY OF INTERVAL 1 DAY AS o", "+", BEFORE),
    (
        "SELECT o.id FROM (SELECT * FROM STREAM orders WHERE price > 1) [ROWS 3] AS o",
        "(SELECT",
        f"counts all that come, before any filter, .* put the window inside of it, or filter {BEFORE}",
    ),
    (
        "WITH p AS (SELECT * FROM STREAM orders WHERE price > 1) SELECT o.id FROM p [PARTITION BY user ROWS 3] AS o",
        "p [PARTITION",
        "put the window inside of it",
    ),
    # When combinations are told.
    (f"DSTREAM(SELECT o.id {ONE})", "DSTREAM(", r"DSTREAM: no combination .* \[ROWS 1\], or write ISTREAM"),
    ("DSTREAM(SELECT o.id FROM STREAM orders AS o)", "DSTREAM(", "needs an event time; .* write WATERMARK"),
    (f"DSTREAM(SELECT o.id, left_at {BOUNDED})", "left_at", '"left_at" is in the answer by itself'),
    (f"DSTREAM(SELECT o.id, o.at AS left_at {BOUNDED})", "o.at AS left_at", "give a column of an input another name"),
    (f"SELECT RSTREAM(Tick, o.id) EVERY INTERVAL 1 DAY {ONE}", "Tick", '"tick" is in the answer by itself'),
    (f"SELECT o.id {ONE} EVERY INTERVAL 1 MINUTE", "EVERY", "EVERY stands behind the bracket that closes RSTREAM"),
    ("SELECT id FROM STREAM orders EVERY 5", "EVERY", r"as in RSTREAM\(SELECT \.\.\) EVERY INTERVAL 1 MINUTE"),
    ("SELECT RSTREAM(id) FROM STREAM orders EVERY 5", "EVERY", r"or SELECT RSTREAM\(\.\.\) EVERY"),
    ("RSTREAM(SELECT id FROM STREAM orders [ROWS 1] EVERY 5)", "EVERY", "behind the bracket that closes RSTREAM"),
    (f"SELECT o.id {ONE} WHERE o.id > 1 EVERY 5", "EVERY", "behind the bracket that closes RSTREAM"),
    (f"SELECT count(*) {ONE} GROUP BY o.at EVERY 5", "EVERY", "behind the bracket that closes RSTREAM"),
    (f"SELECT count(*) AS n EVERY 5 {ONE}", "EVERY", "behind the bracket that closes RSTREAM"),
    (f"DSTREAM(SELECT o.id {BOUNDED} WHERE left_at() > o.at)", "left_at", r"in the list, .* HAVING of DSTREAM"),
    (
        "RSTREAM(SELECT o.id FROM STREAM orders AS o JOIN u ON u.id = o.id AND o.at < Tick()) EVERY 5",
        "Tick",
        r"HAVING of RSTREAM\(\.\.\) EVERY \.\.",
    ),
    (f"SELECT o.id {JOINED} WHERE result_time() > c.at", "result_time", r"in a condition, write greatest\(\.\.\)"),
    # Texts that are cut off.
    (f"SELECT o.id {ONE} WHERE o.id = 'op", "'", "never closed"),
    (f"SELECT o.id {ONE} WHERE (o.id = 1", "", 'expected "[)]"'),
    (f"SELECT o.id, {ONE}", "FROM", "expected an expression after SELECT"),
    ("SELECT o.id FROM (SELECT", "", "expected an expression after SELECT"),
    (f"SELECT sum((o.id AS s {ONE}", "", 'expected "FROM" after the select list'),
    (f"SELECT o.id {ONE} /* and so on", "/*", "never closed"),
]
"""A text, what the mark points at, and what is said of it."""


def make_after(text: str) -> None:
    _ = eddy.Statement(text, functions={"asked": len}).with_columns(COLUMNS).after


@pytest.mark.parametrize(("text", "at", "said"), REFUSED)
def test_what_is_refused_is_shown_in_its_place(text: str, at: str, said: str) -> None:
    with pytest.raises(QueryError, match=f"^statement: .*{said}") as caught:
        make_after(text)
    message, line, mark = str(caught.value).split("\n")
    assert caught.value.__cause__ is None
    assert line[mark.index("^") :].startswith(at)
    assert "attach" not in message


DEEP = 2_000


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT o.id {ONE} WHERE {'(' * DEEP}o.id = 1{')' * DEEP}",
        f"SELECT o.id {ONE} WHERE {'NOT ' * DEEP}o.id = 1",
        f"SELECT o.id {ONE} WHERE {'- ' * DEEP}o.id = 1",
        f"SELECT {'(' * DEEP}o.id + 1{')' * DEEP} AS i {ONE}",
        f"SELECT count(*) AS n {ONE} GROUP BY {'(' * DEEP}o.at{')' * DEEP}",
        f"SELECT o.id FROM {'(SELECT * FROM ' * DEEP}STREAM orders{')' * DEEP} AS o",
        "SELECT " * DEEP,
        "WITH a AS (" * DEEP,
        f"SELECT o.id {ONE} WHERE o.id IN ({'1, ' * 400_000}1)",
        "SELECT o.id" + ", o.id" * 200_000 + f" {ONE}",
        f"SELECT o.id FROM STREAM orders [ROWS {'9' * 5_000}] AS o WHERE o.id = {'9' * 5_000}",
        f"SELECT count(*) AS n {ONE} GROUP BY {'9' * 5_000}",
        "/*" * 400_000,
        "`" * 999_999,
    ],
    ids=str.__len__,
)
def test_texts_without_end_are_refused_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(QueryError, match=r"^statement: ") as caught:
        _ = eddy.Statement(text).after
    assert time.process_time() - began < 5
    assert len(str(caught.value)) < 2_000
