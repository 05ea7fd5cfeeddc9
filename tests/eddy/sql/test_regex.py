"""Regular expressions: what we take means the same to Arrow as to Spark, and what could differ is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from eddy.errors import SparkOnlyError
from eddy.sql import Column, parse
from tests.eddy.sql.cases import listed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = (1, 2)
PATTERNS, TEXTS = 80, 60
"""Of each seed."""

LETTERS = [*"abAB01_- .", "\n", "\r", "\r\n", "\x0b", "\t", "\x85", "\u2028", "\u2029", "\xa0", "é", "É", "ß"]
LETTERS += ["\u0130", "\u0131", "\u017f", "\u212a", "\u0301", "\u0663", "😀", "🙂", "]", "^", "$", "k", "K", "s", "S"]

ATOMS = [" ", "[^a\n]"]
ATOMS += listed(r"""
    a ; b ; A ; 0 ; _ ; - ; . ; \. ; \d ; \D ; \w ; \W ; \s ; \S ; \n ; \t ; \r ; é ; ß ; k ; s ; 😀 ; \x41 ; \u00e9 ;
    \x{1F600} ; \- ; \$ ; ] ; } ; \p{Lower} ; \P{Alnum} ; [ab] ; [^a] ; [a-c0-2] ; [\d_] ; [^\s\w] ; [é-ÿ] ; [-a] ;
    [a-] ; [\]a] ; [k] ; [\W] ; [$.]
""")
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}?", "{1,}"]

EXAMPLES = [
    "",
    *listed(r"""
    ^$ ; a| ; |a ; (a|b)*$ ; \Aa\z ; (?i)k ; (?i)[^k] ; (?s)a.b ; (?is)K.s$ ; .$ ; [^a]$ ; a\r$ ; \r$|b ; x$|a$ ; \s\z ;
    (?i)é ; (?i)[É] ; () ; (?<n>a)b ; (a?)*b ; (a*)+$ ; ^^a ; a{0} ; a{02} ; ^a{1,02}$ ; (b{00,}) ; (?i)(a|[k]) ;
    a|[Ss] ; (?i)kS|ka
"""),
]

REFUSED = listed(r"""
    \bfoo ; (?=a) ; (?<=a)b ; (?!a) ; (a)\1 ; a*+ ; a{2}{3} ; a** ; *a ; (a ; a) ; [a ; []a] ; [a[b]] ; [a&&b] ; \p{L} ;
    \pL ; (?m)^a ; a(?i)b ; (?i:a) ; \Qa\E ; \Z ; \G ; \h ; \R ; \X ; a$b ; (a$) ; $* ; ^* ; \0101 ; \cA ; a{1001} ;
    a{2,1} ; { ; a{x} ; a\ ; [b-a] ; [a-\d] ; [😀] ; \x00 ; \ud83d ; (?>a) ; \N{DIGIT ONE} ; \y ; (?x)a b ; (?u)a ;
    [a-b-c] ; (a{1000}){1000} ; (?<x>a)(?<x>b) ; \${0,1}?0 ; (^|[^a]|b){3}?s ; ((?:a|b\z)c?){2,}
""")


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def patterns(seed: int) -> Iterator[str]:
    """Random patterns, most of which both may take."""
    chance = random.Random(seed)

    def one(depth: int) -> str:
        parts = []
        for _ in range(chance.randint(1, 3)):
            part = chance.choice(ATOMS)
            if depth and chance.random() < 0.4:
                part = (
                    f"{chance.choice(['(', '(', '(?:', '(?<x>'])}{one(depth - 1)})"
                    if depth < 2
                    else f"({one(depth - 1)})"
                )
            parts.append(part + (chance.choice(REPEATS) if chance.random() < 0.4 else ""))
        text = "".join(parts)
        return f"{text}|{one(depth - 1)}" if depth and chance.random() < 0.2 else text

    for _ in range(PATTERNS):
        begin, end = chance.choice(["", "", "^", "(?i)", "(?s)", "(?i)^"]), chance.choice(["", "", "", "$", r"\z"])
        yield f"{begin}{one(2)}{end}"


def texts(seed: int) -> list[str | None]:
    chance = random.Random(seed)
    made = ["".join(chance.choices(LETTERS, k=chance.randint(0, 5))) for _ in range(TEXTS)]
    return [None, *LETTERS, *made]


def accepted(texts: list[str], group: int | None = None) -> list[str]:
    """Those that we take."""
    found = []
    for text in texts:
        asked = f"s RLIKE {quoted(text)}" if group is None else f"regexp_extract(s, {quoted(text)}, {group})"
        try:
            parse(asked, where="here")
        except SparkOnlyError:
            continue
        found.append(text)
    return found


def differences(spark: SparkSession, rows: list[str | None], asked: list[str]) -> Iterator[str]:
    """Expressions over the column `s` for which Spark gives something else."""
    table = pa.table({"s": pa.array(rows, pa.string())})
    theirs = spark.createDataFrame(table).selectExpr(*(f"{text} AS c{n}" for n, text in enumerate(asked))).toArrow()
    for place, text in enumerate(asked):
        bound = parse(text, where="here").bind({Column(None, "s"): pa.string()})
        mine = bound.evaluate({Column(None, "s"): table["s"].combine_chunks()}, table.num_rows)
        for row, ours, spoken in zip(rows, mine.to_pylist(), theirs.column(place).to_pylist(), strict=True):
            if ours != spoken:
                yield f"{text} of {row!r}: {ours!r} is not Spark's {spoken!r}"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_patterns_match_what_they_match_in_spark(spark: SparkSession, seed: int) -> None:
    found = accepted([*EXAMPLES, *patterns(seed)])
    assert len(found) > PATTERNS / 2
    asked = [f"s RLIKE {quoted(text)}" for text in found]
    assert list(differences(spark, texts(seed), asked)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_random_groups_hold_what_they_hold_in_spark(spark: SparkSession, seed: int) -> None:
    groups = [(text, group) for group in (0, 1, 2) for text in accepted([*EXAMPLES, *patterns(seed)], group)]
    assert len(groups) > PATTERNS / 2
    asked = [f"regexp_extract(s, {quoted(text)}, {group})" for text, group in groups]
    assert list(differences(spark, texts(seed), asked)) == []


@pytest.mark.parametrize("pattern", ["((é+)??)+\\r??", "(a|)*b", "(?:a*)+", "()*a", "(a(b?)){2}", "(?:(a))*"])
def test_groups_that_could_hold_something_else_are_refused(pattern: str) -> None:
    """Java and RE2 find these in the same texts, and may take another part of them."""
    parse(f"s RLIKE {quoted(pattern)}", where="here")
    with pytest.raises(SparkOnlyError, match="a repeat of"):
        parse(f"regexp_extract(s, {quoted(pattern)}, 1)", where="here")


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_could_differ_is_refused_and_left_to_spark(pattern: str) -> None:
    with pytest.raises(SparkOnlyError, match="Spark alone evaluates it"):
        parse(f"s RLIKE {quoted(pattern)}", where="here")


def test_the_names_of_rlike(spark: SparkSession) -> None:
    rows = ["ab", "b", None]
    asked = [
        "s RLIKE 'a'",
        "s REGEXP 'a'",
        "NOT s RLIKE 'a'",
        "s NOT RLIKE r'\\w{2}'",
        "regexp_like(s, 'b$')",
        "rlike(s, '')",
    ]
    asked += ["regexp(s, 'a')", "regexp_extract(s, '(b)')", "'ab' RLIKE 'b$'", "7 RLIKE '7'", "NULL RLIKE 'a'"]
    assert list(differences(spark, [*rows], asked)) == []
