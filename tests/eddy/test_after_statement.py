"""What a statement leaves to Spark, in its words, with the columns as the answer calls them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import eddy
from eddy.errors import QueryError

FROM = """
    FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE AS o
    JOIN STREAM clicks WATERMARK at DELAY OF INTERVAL 1 MINUTE AS c ON o.user = c.user AND c.at <= o.at
"""
COLUMNS = {"o": ["user", "at", "price", "address", "day"], "c": ["user", "at", "page"]}


def after(text: str) -> tuple[str, Sequence[str] | None, str | None]:
    asked = eddy.Statement(text, columns=COLUMNS)
    assert asked.after is not None
    return asked.after.text, asked.query.select, asked.after.time


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        ("o.price * 2", "`o_price` * 2 AS `o.price * 2`"),
        ("upper( page ) AS p", "upper( `c_page` ) AS `p`"),
        ("upper(c.page) shown", "upper(`c_page`) AS `shown`"),
        ("CASE WHEN price > 1 THEN page END kind", "CASE WHEN `o_price` > 1 THEN `c_page` END AS `kind`"),
        (
            "`o`.`price` + 1",
            "`o_price` + 1 AS `` `o`.`price` + 1 ``".replace("`` `o`.`price` + 1 ``", "```o``.``price`` + 1`"),
        ),
        ("address.city.name", "`o_address`.city.name AS `address.city.name`"),
        ("o.address.city AS city", "`o_address`.city AS `city`"),
        # Words that are no columns, though a column is called like them.
        ("CAST(o.price AS day)", "CAST(`o_price` AS day) AS `CAST(o.price AS day)`"),
        ("o.price + INTERVAL 1 day", "`o_price` + INTERVAL 1 day AS `o.price + INTERVAL 1 day`"),
        ("day(o.at)", "day(`o_at`) AS `day(o.at)`"),
        ("'day {0}' || o.price", "'day {{0}}' || `o_price` AS `'day {{0}}' || o.price`"),
        ("result_time() AS t", "greatest(`o_at`, `c_at`) AS `t`"),
        ("greatest(c.at, o.at)", "greatest(`o_at`, `c_at`) AS `greatest(c.at, o.at)`"),
        ("greatest(o.at, o.day)", "greatest(`o_at`, `o_day`) AS `greatest(o.at, o.day)`"),
    ],
)
def test_columns_get_the_names_of_the_answer(entry: str, written: str) -> None:
    text, _, time = after(f"SELECT {entry}, o.user {FROM}")
    assert text == f"SELECT {written}, `o_user` AS `user` FROM {{answer}}"
    assert time is None  # nothing is grouped, so nothing has to close


@pytest.mark.parametrize(
    ("group", "written", "time"),
    [
        ("o.user, window(o.at, '1 minute')", "`o_user`, window(`o_at`, '1 minute')", "o_at"),
        ("window(result_time(), '1 minute')", "window(`result_time`, '1 minute')", "result_time"),
        ("page, date_trunc('hour', c.at)", "`c_page`, date_trunc('hour', `c_at`)", "c_at"),
    ],
)
def test_groups_close_by_a_time(group: str, written: str, time: str) -> None:
    text, select, found = after(f"SELECT count(*) AS n {FROM} GROUP BY {group} HAVING max(o.price) > 1")
    assert text == f"SELECT count(*) AS `n` FROM {{answer}} GROUP BY {written} HAVING max(`o_price`) > 1"
    assert found == time
    assert "o.price AS o_price" in (select or ())


def test_groups_and_what_they_are_made_by() -> None:
    text, _, _ = after(f"SELECT window.start, user_id.x, sum(price) {FROM} GROUP BY window(o.at, '1 day'), user_id")
    assert text.startswith("SELECT window.start AS `start`, user_id.x AS `x`, sum(`o_price`) AS `sum(price)` FROM")


def test_the_newest_time_beside_groups_by_another() -> None:
    text, _, time = after(f"SELECT max(result_time()) AS t {FROM} GROUP BY window(o.at, '1 day')")
    assert time == "o_at"
    assert text.startswith("SELECT max(greatest(`o_at`, `c_at`)) AS `t` FROM {answer} GROUP BY window(`o_at`, '1 day')")


def test_the_newest_time_may_be_called_like_its_function() -> None:
    text, _, _ = after(f"SELECT result_time() AS result_time, 'result_time' AS t {FROM}")
    assert text == "SELECT greatest(`o_at`, `c_at`) AS `result_time`, 'result_time' AS `t` FROM {answer}"
    text, _, time = after(f"SELECT max(result_time()) AS result_time {FROM} GROUP BY window(o.at, '1 day')")
    assert time == "o_at"
    assert text.startswith("SELECT max(greatest(`o_at`, `c_at`)) AS `result_time` FROM {answer}")


def test_columns_of_all_inputs_beside_others() -> None:
    text, select, _ = after(f"SELECT c.*, 1 + 1 AS two {FROM}")
    assert text == "SELECT `c_user` AS `user`, `c_at` AS `at`, `c_page` AS `page`, 1 + 1 AS `two` FROM {answer}"
    assert select == ("c.user AS c_user", "c.at AS c_at", "c.page AS c_page")


def test_rows_are_counted_by_some_column() -> None:
    text, select, _ = after(f"SELECT count(*) {FROM} GROUP BY window(result_time(), '1 day')")
    assert select == ("o.at AS o_at",)
    assert text.startswith("SELECT count(*) AS `count(*)` FROM {answer}")


WINDOWED = FROM.replace("MINUTE AS", "MINUTE [RANGE 1 DAY] AS")


@pytest.mark.parametrize(
    ("text", "written", "time"),
    [
        ("RSTREAM(SELECT o.price + 1 {0}) EVERY 1 DAY", "`o_price` + 1 AS `o.price + 1`, `tick` FROM {answer}", None),
        ("DSTREAM(SELECT o.price + 1 {0})", "`o_price` + 1 AS `o.price + 1`, `left_at` FROM {answer}", None),
        ("DSTREAM(SELECT day(left_at()) AS d {0})", "day(`left_at`) AS `d` FROM {answer}", None),
        (
            "RSTREAM(SELECT o.user, count(*) {0} GROUP BY o.user) EVERY 1 DAY",
            "`o_user` AS `user`, count(*) AS `count(*)`, `tick` FROM {answer} GROUP BY `o_user`, `tick`",
            "tick",
        ),
        (
            "RSTREAM(SELECT count(*) AS n {0} GROUP BY tick()) EVERY 1 DAY",
            "count(*) AS `n` FROM {answer} GROUP BY `tick`",
            "tick",
        ),
        (
            "RSTREAM(SELECT tick() AS t, count(*) AS n {0} GROUP BY o.user) EVERY 1 DAY",
            "`tick` AS `t`, count(*) AS `n` FROM {answer} GROUP BY `o_user`, `tick`",
            "tick",
        ),
        (
            "RSTREAM(SELECT DISTINCT o.user {0}) EVERY 1 DAY",
            "DISTINCT `o_user` AS `user`, `tick` FROM {answer}",
            "tick",
        ),
        (
            "DSTREAM(SELECT count(*) AS n, max(result_time()) {0} GROUP BY window(left_at(), '1 day'), o.at)",
            "count(*) AS `n`, max(greatest(`o_at`, `c_at`)) AS `max(result_time())` FROM {answer} "
            "GROUP BY window(`left_at`, '1 day'), `o_at`",
            "left_at",
        ),
    ],
)
def test_what_is_told_later_has_a_time_of_its_own(text: str, written: str, time: str | None) -> None:
    found, _, by = after(text.replace("{0}", WINDOWED))
    assert found == f"SELECT {written}"
    assert by == time


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"SELECT tick() {FROM}", r'"tick" goes with RSTREAM\(\.\.\) EVERY'),
        (
            f"RSTREAM(SELECT count(*) {WINDOWED} GROUP BY o.user WITH ROLLUP) EVERY 1 DAY",
            r"tick\(\) is a part of all groups, .* write ROLLUP",
        ),
        (
            f"DSTREAM(SELECT count(*) {WINDOWED} GROUP BY window(o.at, '1 day'))",
            r"GROUP BY without a time: .* such as window\(left_at\(\), '1 minute'\)",
        ),
        (
            f"SELECT 1 {FROM} GROUP BY window(o.at, '1 day'), window(c.at, '1 day')",
            'groups close by one time, and there are "c_at", "o_at"',
        ),
        (f"SELECT user + 1 {FROM}", 'column "user" is in "o", "c"'),
        (f"SELECT f(o.user) AS g {FROM}", '"f" is a predicate in Python: it stands in WHERE'),
        ("SELECT result_time() AS t FROM STREAM orders AS o", "no stream has an event time"),
        (f"SELECT o.nothing + 1 {FROM} GROUP BY o.user", "GROUP BY without a time"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        _ = eddy.Statement(text, columns=COLUMNS, functions={"f": len}).after


def test_what_only_spark_does_needs_spark() -> None:
    asked = eddy.Statement("SELECT o.price + 1 AS more FROM STREAM orders AS o")
    with pytest.raises(QueryError, match=r"run_local: the statement has expressions, .* run it on Spark"):
        eddy.run_local(asked, {"orders": []})
    assert eddy.explain(asked).endswith("after the eddy, by Spark\n  SELECT `o_price` + 1 AS `more` FROM answer")


DELAYED = "STREAM {0} WATERMARK at DELAY OF INTERVAL {1} MINUTE AS {0}"
BOTH = f"{DELAYED.format('o', 1)} JOIN {DELAYED.format('c', 2)} ON o.user = c.user"

WATERMARK = "watermark of "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # Nothing closes.
        (f"SELECT o.user + 1 FROM {BOTH} AND c.at <= o.at", None),
        (
            f"SELECT count(*) FROM {BOTH} GROUP BY window(result_time(), '1 day')",
            'watermark of "result_time": that of the slowest stream',
        ),
        # An order may be met for a minute by a later click, and a click by no later order.
        (
            f"SELECT DISTINCT o.at FROM {BOTH} AND c.at BETWEEN o.at AND o.at + INTERVAL 1 MINUTE",
            'watermark of "o_at": 1 minute behind that of the slowest stream, for as long as a row of o can be met',
        ),
        (
            f"SELECT DISTINCT c.at FROM {BOTH} AND c.at BETWEEN o.at AND o.at + INTERVAL 1 MINUTE",
            'watermark of "c_at": that of the slowest stream',
        ),
        (
            f"SELECT DISTINCT o.at FROM {BOTH} AND o.at <= c.at",
            'no watermark of "o_at", since a row of o can be met for ever: no group ever closes',
        ),
        (f"SELECT DISTINCT o.at FROM {DELAYED.format('o', 1)}", 'watermark of "o_at": that of the slowest stream'),
        (
            "SELECT DISTINCT o.at FROM STREAM o",
            'no watermark of the answer, since there is no delay of "o": no group ever closes',
        ),
    ],
)
def test_the_watermark_of_the_answer_is_drawn(text: str, told: str | None) -> None:
    asked = eddy.Statement(text, streams=[] if WATERMARK.upper().split()[0] in text else [eddy.Stream("o", time="at")])
    plan = eddy.explain(asked).partition("\n\n")[2].partition("\n\n")[0].splitlines()
    drawn = [line.strip(" │├└─") for line in plan]
    assert drawn[1].startswith("Spark: SELECT ")
    assert [line for line in drawn if WATERMARK in line and line.partition(WATERMARK)[2][0] in '"t'] == (
        [told] if told else []
    )
    below = drawn[2 + ("GROUP BY" in text) + (told is not None)]
    assert below.startswith("the eddy: select ")


def test_groups_are_drawn_above_the_watermark() -> None:
    text = f"SELECT count(*) AS n, '{{}}' AS t FROM {BOTH} GROUP BY window(result_time(), '1 day') HAVING count(*) > 1"
    plan = eddy.explain(eddy.Statement(text)).splitlines()
    assert plan[3:7] == [
        "  Spark: SELECT count(*) AS `n`, '{}' AS `t`",
        "  └─ Spark: GROUP BY window(`result_time`, '1 day') HAVING count(*) > 1",
        '     └─ watermark of "result_time": that of the slowest stream',
        "        └─ the eddy: select o.at AS o_at",
    ]
    assert '              └─ watermark of c: 2 minutes behind the newest "at"' in plan
