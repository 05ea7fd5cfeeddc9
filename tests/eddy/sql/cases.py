"""Expressions over `rows.TABLE` that Spark and we must agree on."""

from __future__ import annotations

import re
from itertools import product


def listed(text: str) -> list[str]:
    """Split a text into the expressions that it lists."""
    return [item for item in re.split(r"\s+;\s*", text.strip()) if item]


def has_few_digits(left: str, right: str) -> bool:
    """Tell whether what is divided by is no decimal of more than 9 digits: we leave those to Spark."""
    return right not in "ijlm" or not {left, right} & {"m", "n"} or "d" in (left, right)


NUMBERS = ("t", "i", "l", "big", "f", "d", "e", "m", "n", "w")
SMALL = ("t", "i", "j", "l", "m", "n", "d")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")

# Decimals of more digits than 64 bits have, and of all that there are.
WIDE = ("cast(m * 1000 as decimal(24,2))", "cast(l * 10000000000000000 as decimal(38,2))")

COMPARED = [
    *(f"cast('-0.{'9' * 33}' as decimal(34, 33)) {op} -1" for op in ("=", "<=", ">", "<=>")),
    *(f"{left} {op} {right}" for left, right in product(NUMBERS, NUMBERS) for op in ("=", "<", ">=", "<=>")),
    *(f"{left} {op} {right}" for left, right in [("s", "u"), ("y", "y"), ("b", "b"), ("v", "v")] for op in COMPARISONS),
    *(f"{left} {op} {right}" for left, right in product("azx", "azx") for op in COMPARISONS),
    *(f"{column} {op} 'NaN'" for column in "fde" for op in COMPARISONS),
    *(f"d {op} {value}" for value in ("0", "-0.0", "1.5", "1e0", "2.5f", "9007199254740993") for op in COMPARISONS),
    *(
        f"big {op} {value}"
        for value in ("9007199254740993", "9007199254740992.0", "9007199254740993e0")
        for op in "=<>"
    ),
    *listed(r"""
        k = 12 ; k < 5 ; k = 3.0 ; 12 = k ; k <=> 3 ; i = '7' ; m = '1.25' ; f = '1.5' ; b = 'true' ; s = y ;
        a = '2024-02-29' ; z > '2000' ; x <= '2024-02-29 12:30:15.000001' ;
        a < TIMESTAMP '2000-01-01 00:00:01' ; a = z ; a = x ; z = x ; i = null ; null <=> i ; null = null ;
        null <=> null ; i == 7 ; i != 7 ; i !> 7 ; 1 = 1 is null ; i = 7 = true ; i < j = b ; i = j is null ;
        b = (i < 5) ; i = 7 in (true, b) ; 1Y = 1L ; v > interval 1 minute ; v = interval 1 day ;
        v <= interval '1' hour ; s < 'b' ; s >= u ; y > X'61'
    """),
]
LOGIC = [
    *(
        f"{left} {op} {right}"
        for left, right in product(("b", "i > 0", "null", "true", "false"), repeat=2)
        for op in ("and", "or")
    ),
    *listed(r"""
        not b ; !b ; not null ; not i = 7 ; ! b or b ; not b and b ; not (b and i > 0) ; 'true' and b ;
        b is true ; b is false ; b is not true ; b is not false ; b is unknown ; i is null ; i is not null ;
        not i is null ; i is distinct from j ; i is not distinct from j ; isnull(s) ; isnotnull(s) ;
        b is null ; j <> 0 and i / j > 1 ; j = 0 or i % j = 1 ; (j <> 0) and (10 div j > 1) and b ;
        b or j = 0 or i / j > 0 ; i in (7, 5, 1) ; i in (7, null) ; i not in (7, 5) ; i not in (7, null) ;
        null in (1) ; i in (j, l) ; i in (j, 5, null) ; d in ('NaN', 0) ; d in (e, 0.1) ; d in (0e0) ;
        f in (0.1f, 1.5f) ; f in (0.1) ; s in ('abc', '') ; m in (1.25, 3) ; i in (7.0, '5') ;
        l in (10, 3.0, 4e0) ; a in (DATE '2000-01-01') ; z in (TIMESTAMP '2000-01-01') ; b in (true) ;
        y in (X'FF', X'') ; v in (interval 1 minute) ; k in (12, 3) ; i between 1 and 7 ;
        i not between j and 7 ; s between 'a' and 'b' ; d between 0 and 'NaN' ; k between 1 and 9 ;
        i between null and 3 ; a between '2000-01-01' and '2024-02-29' ; i between 0.5 and 7.5 and b
    """),
]
ARITHMETIC = [
    *(f"{left} {op} {right}" for left, right in product(SMALL, SMALL) for op in "+-*" if {left, right} != {"t"}),
    *(f"{left} / nullif({right}, 0)" for left, right in product(SMALL, SMALL)),
    *(f"{left} % nullif({right}, 0)" for left, right in product(SMALL, SMALL) if has_few_digits(left, right)),
    *(f"{left} div nullif({right}, 0)" for left, right in product("tijmn", "tijlmn") if has_few_digits(left, right)),
    *(f"l div nullif({right}, 0)" for right in "tijl"),
    *(f"w / nullif({right}, 0)" for right in "tijlmn"),
    *(f"{wide} {op} {right}" for wide in WIDE for right in "imn" for op in "+-*"),
    *(f"{WIDE[0]} / nullif({right}, 0)" for right in "imn"),
    *(f"{function}({wide})" for wide in WIDE[:1] for function in ("-", "abs", "round", "floor", "ceil", "double")),
    *(f"{function}(cast({column} as decimal(20, 0)))" for column in "il" for function in ("floor", "ceil", "round")),
    "cast(9223372036854775807 as decimal(19, 0)) % cast(4 as decimal(9, 0))",
    "cast(cast('-140737488355327.75' as decimal(38, 18)) as bigint)",
    "round(cast('219902325555.175' as decimal(38, 16)), 1)",
    "cast('99999999999999999.9999999999999999' as decimal(33, 16)) / cast(500000 as decimal(15, 1))",
    *(
        f"{column} {op} {value}"
        for column in "ilmnd"
        for value in ("2", "1.5", "3L", "2e0", "'4'", "0.125", "7Y")
        for op in ("+", "-", "*", "/", "%")
    ),
    *listed(r"""
        -i ; - i ; -d ; -m ; +i ; -(-i) ; -k ; -v ; abs(i) ; abs(d) ; abs(m) ; abs(v) ; abs(k) ; -5 % 3 ;
        i + j * l ; (i + j) * l ; i - j - l ; -i % 7 ; i / 7 * 3 ; 2 - -1 ; mod(i, 7) ; i + null ;
        null + null ; 1.10 * 2.20 ; 1.5 / 3 ; 100 - 1.5 ; 1L + 1.5 ; 5 div 2 ; 1e0 / 3 ; -9223372036854775808 ;
        0.1 + 0.2 ; round(e) ; round(e, 2) ; round(e, -1) ; round(m) ; round(m, 1) ; round(m, -1) ;
        round(i, -1) ; round(f, 1) ; round(l, 2) ; round(2.5) ; round(-2.5) ; round(2.675e0, 2) ;
        floor(nullif(l / 7, 99)) ; ceil(l / 7) ; floor('NaN') ; floor(m) ; ceil(m) ; ceil(n) ; floor(n) ;
        floor(i) ; ceiling(i / 3) ; floor(i * 0.3f) ; round(n, 2) ; round(w, 3) ; ceil(w) ; floor(w) ;
        isnan(d) ; isnan(f) ; isnan(i) ; isnan(null) ; isnan('NaN') ; n * n * n ; m * n ;
        +w ; -n ; abs(-m) ; -cast(l as decimal(34, 0)) ; -12345678901234567890123456789012345678
    """),
]
CONDITIONAL = [
    *listed(r"""
        case when b then i else j end ; case when b then i end ;
        case i when 7 then 'x' when j then 'y' else s end ; case when i > 5 then 1 when b then 2.5 else l end ;
        case i when null then 1 else 2 end ; case b when true then 1 end ; case when j <> 0 then i / j end ;
        case when j = 0 then null when j > 0 then i % j else i / j end ; if(j = 0, 0, i div j) ;
        if(b is null, 0, if(b, i, 10 / nullif(j, 0))) ; case when j = 0 then d when i % j = 0 then e end ;
        if(b, i, d) ; if(b, m, i) ; if(null, 1, 2) ; if(b, a, z) ; if(b, s, null) ; nvl2(i, j, l) ;
        nvl2(s, 1, 0) ; coalesce(i, j) ; coalesce(i, j, 0) ; coalesce(null, d, 1) ; nvl(s, 'none') ;
        ifnull(m, 0) ; coalesce(i, k) ; coalesce(b, false) ; coalesce(i, 1 / nullif(j, 0)) ;
        coalesce(l, 10 div nullif(j, 0), -1) ; coalesce(a, z) ; nullif(i, 7) ; nullif(d, 'NaN') ;
        nullif(s, 'abc') ; nullif(i, m) ; greatest(i, j, l) ; least(i, j, l) ; greatest(d, e) ; least(d, e) ;
        greatest(i, m) ; least(f, d) ; greatest(s, u) ; least(s, 'b', u) ; greatest(a, z) ; least(b, false) ;
        greatest(null, i) ; greatest(null, null) ; least(v, interval 1 second) ; coalesce(null, null) ;
        coalesce(s, u, k) ; if(b, k, 5)
    """),
]
PATTERNS = listed(r"""
    '%' ; 'a%' ; '%c' ; '%b%' ; 'a_c' ; 'a\_c' ; '100\%' ; 'abc' ; '' ; '%\n%' ; 'a.c' ; '_%_' ; '%ß%' ; 'STRASSE' ;
    '日%' ; '%🎉' ; '________' ; 'c:\\\\%' ; 'a%c%' ; null ; '%%' ; '(a|b)*' ; 'Àé%'
""")
STRINGS = [
    *(
        f"{function}({column})"
        for function in ("upper", "lower", "length", "trim", "ltrim", "rtrim")
        for column in "suk"
    ),
    *(f"s {op} {pattern}" for op in ("like", "not like", "ilike") for pattern in PATTERNS),
    *listed(r"""
        s like p ; s not like p ; s ilike p ; u like p escape '/' ; s like 'a/_c' escape '/' ; i like '1%' ;
        u like '%' || 'b' ; s like 'a__' escape '$' ; 'a%' like 'a$%' escape '$' ; s like '100!%' escape '!' ;
        s || u ; concat(s, '-', u) ; concat(i, s) ; i || j ; y || y ; concat() ; concat(s) ; s || null ;
        b || 'x' ; m || '' ; a || '' ; z || '' ; x || '|' ; w || '' ; upper(i)
    """),
    *(f"substring(s, {start}, {size})" for start in (-20, -5, -3, -1, 0, 1, 2, 4, 20) for size in (-1, 0, 1, 3, 30)),
    *(f"substring(s, {start})" for start in (-20, -3, -1, 0, 1, 2, 20)),
    *listed(r"""
        substring(s from 2 for 2) ; substr(s from 2) ; left(s, 2) ; left(s, 0) ; left(s, -1) ; right(s, 2) ;
        right(s, 0) ; right(s, -1) ; substring(i, 1, 1) ; substring(s, 1 + 1, length('ab')) ;
        substring(s, '2', 1) ; substring(s, 1.7, 1) ; startswith(s, 'a') ; endswith(s, 'c') ;
        contains(s, 'b') ; startswith(s, u) ; endswith(s, u) ; contains(s, u) ; contains(s, '') ;
        contains(s, null) ; startswith(i, '1') ; trim('a' from s) ; trim(both 'ac' from s) ;
        trim(leading 'a' from s) ; trim(trailing 'c' from s) ; ltrim('a', s) ; rtrim('c', s) ; btrim(k) ;
        trim(u from s) ; char_length(s) ; character_length(u) ; len(s) ; length(y) ; lcase(s) ; ucase(s) ;
        lower('ΑΣ') ; upper('ŉﬁ') ; 'it''s' ; 'a' 'b' ; 'a\tb\u0041\101\%\_\\' ; r'a\nb' ; "dq" ; X'1F' ;
        X'ABC'
    """),
]
TIMES = [
    *(
        f"{part}({column})"
        for part in ("year", "quarter", "month", "day", "dayofweek", "hour", "minute", "second")
        for column in "azx"
    ),
    *listed(r"""
        dayofmonth(a) ; extract(year from z) ; extract(hour from x) ; year('2024-01-05') ;
        hour('2024-01-05 07:08:09') ; z + interval 1 day ; z - interval 90 minutes ; x + interval '5' seconds ;
        x - v ; z + v ; v + z ; a + v ; a + interval 1 day ; a - interval 2 weeks ; a + interval 1 hour ;
        a + 1 ; 1 + a ; a - 1 ; a - t ; a + i ; a + 2147483647 ; a - a ; a - DATE '2000-01-01' ; z - z ;
        z - TIMESTAMP '2000-01-01' ; x - x ; z - x ; z - a ; a - x ; a - '2000-01-01' ; z - '2000-01-01' ;
        interval 5 minutes 3 seconds ; interval '5 minutes' ;
        interval 1 week ; interval 100 milliseconds ; interval 1.5 seconds ; interval -5 seconds ;
        interval -'5' second ; -interval 1 day ; interval 1 day 2 days ;
        interval 1 day - 1 hour ; interval - 1 day + 2 hours ; z - interval 1 day - 1 hour ; interval '1 day - 1 hour' ;
        interval + 5 second ; TIMESTAMP '2020-1-1 1:2:3' ;
        TIMESTAMP '2020-01-01 00:00:00+02:00' ; TIMESTAMP '2020-07-01 12:00:00 Europe/Berlin' ;
        TIMESTAMP_NTZ '2020-01-01 00:00:00.123456' ; DATE '2020-1-5' ; DATE '  2020 ' ;
        TIMESTAMP_LTZ '2020-01-01' ; TIMESTAMP '2020-01-01T05:06:07.1234567Z' ; a = a + interval 0 day ;
        a + interval 24 hours ; -v ; abs(v) > v ; z between TIMESTAMP '1970-01-01' and TIMESTAMP '2024-06-01' ;
        z - interval 1 day > x ; year(z) + month(a) ; z - z < interval 1 second ;
        z - TIMESTAMP '2024-02-29' > interval 1 day ; a > DATE '2000-01-01' - interval 1 day
    """),
]
# Texts that CAST reads, some of them with blanks around it.
NUMBER_TEXTS = [" 1.5 ", "", " "]
NUMBER_TEXTS += listed("""
    1e3 ; -1E-2 ; inf ; -Infinity ; NaN ; 1d ; 1. ; .5 ; +7 ; 0x1F ; 1_000 ; t ; YES ; no ; 1 ; ٣ ; 2147483648 ;
    -2147483648 ; 1.2345 ; 99999999999
""")
TIME_TEXTS = [" 2024-01-05 ", "", " Epoch UTC "]
TIME_TEXTS += listed("""
    2024-02-29 ; 2023-02-29 ; 2024 ; 2024-1 ; 2024-1-5 ; 2024-01-05 7:8:9 ; 2024-01-05T07:08 ; 2024-01-05 07:08:09.1 ;
    2024-01-05 07:08:09Z ; 2024-01-05 07:08:09 +01:30 ; 2024-01-05 24:00:00 ; x ; 2024-01-05 07:08:09.123456789 ;
    2024-01-05 12 ; 2024-13-01 ; 24-01-05 ; 2024-01-05x ; 2024-01-05 x ; 2024-01-05 07:08:09 Europe/Oslo ;
    2024-01-05 07:08:09+0130 ; 2024-01-05 07:08:09 -08 ; 2024/01/05 ; -2024-01-01 ; 0001-01-01 ; 12 ; T ; T25:00 ;
    12:60 ; +12:00 ; 12:00 UTC ; epoch ; epoch Mars ; epochal
""")
CASTS = [
    "cast(cast('9.99999999999999999999' as decimal(30, 29)) as int)",
    "cast(cast('9.99999999999999999999' as decimal(30, 29)) as bigint)",
    "cast(cast('0.5' as decimal(10, 9)) as boolean)",
    *(f"cast({column} as {type})" for column in "btijl" for type in ("int", "bigint", "float", "double", "string")),
    *(
        f"cast({column} as {type})"
        for column in "til"
        for type in ("decimal(10,2)", "decimal(38,5)", "boolean", "smallint")
    ),
    *(
        f"try_cast({column} as {type})"
        for column in ("i", "l", "big", "f", "d", "e", "m", "n", "w")
        for type in "tinyint smallint int bigint float double decimal(5,1) decimal(20,10) boolean".split()
    ),
    *(
        f"try_cast({column} as {type})"
        for column in "suk"
        for type in "int bigint double float decimal(5,1) boolean date timestamp timestamp_ntz binary".split()
    ),
    *(f"cast({column} as {type})" for column in "azx" for type in ("date", "timestamp", "timestamp_ntz", "string")),
    *(
        f"try_cast('{text}' as {type})"
        for type in ("double", "decimal(10,3)", "int", "boolean")
        for text in NUMBER_TEXTS
    ),
    *(f"try_cast('{text}' as {type})" for type in ("date", "timestamp", "timestamp_ntz") for text in TIME_TEXTS),
    *listed(r"""
        cast(z as bigint) ; cast(z as double) ; cast(i as timestamp) ; cast(1.5e0 as timestamp) ; i::bigint ;
        -5::string ; cast('7' as int) + i ; int(k) ; bigint(i) ; double('1.5') ; string(i) ; date(z) ;
        cast(null as int) ; i::string ; cast(s as binary) ; cast(true as int) ; cast(0.1f as double) ;
        cast(b as decimal(3,1)) ; try_cast(1e300 as decimal(10,2)) ; try_cast('NaN'::double as decimal(10,2)) ;
        cast(12.5e0 as decimal(3,0)) ; try_cast(s as int) is null ; coalesce(try_cast(s as int), i) ; 128S ;
        1.5BD ; 1.5e3BD ; 2D ; 1.5F ; 7Y ; 9L ; 99999999999 ; 99999999999999999999 ; 1.50 ; .5 ; 5. ; 1e-3 ;
        0.001 ; 00012 ; -1.50 ; -128Y
    """),
]
# Where `j` is 0, dividing by it fails, and `nullif(j, 0)` is null: Spark looks at one of them first.
_NULL, _FAILS = "nullif(j, 0)", "(i div j)"
_NULL_TEXT, _FAILS_TEXT = "cast(nullif(j, 0) as string)", "cast(i div j as string)"
SKIPPED = [
    *(f"{_NULL} {op} {_FAILS}" for op in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*")),
    *(f"{_FAILS} {op} {_NULL}" for op in ("/", "%", "div")),
    *(f"{_FAILS} {op} cast({_NULL} as {type})" for op in ("/", "%") for type in ("double", "decimal(9,2)")),
    *(f"cast({_NULL} as {type}) {op} {_FAILS}" for op in ("+", "<") for type in ("double", "decimal(12,2)", "string")),
    *(f"{function}({_NULL_TEXT}, {_FAILS_TEXT})" for function in ("contains", "startswith", "endswith")),
    *(f"{function}({_FAILS_TEXT}, {_NULL_TEXT})" for function in ("ltrim", "rtrim")),
    *(f"{_NULL_TEXT} {op} {_FAILS_TEXT}" for op in ("like", "ilike")),
    *(
        f"{_NULL} + {_FAILS} is null",
        f"if(j = 0, null, a) - cast(if(j = 0, {_FAILS}, 0) as timestamp)",
        f"if(j = 0, null, a) + cast(if(j = 0, {_FAILS}, 0) as int)",
    ),
    *(
        f"{_NULL} in (1, {_FAILS})",
        f"j in (0, {_FAILS})",
        f"{_NULL} between {_FAILS} and 3",
        f"j between 1 and {_FAILS}",
    ),
    *(f"nullif({_NULL}, {_FAILS})", f"case {_NULL} when {_FAILS} then 1 end", f"{_NULL} - {_FAILS} - i / j"),
]
AGREED = [*COMPARED, *LOGIC, *ARITHMETIC, *CONDITIONAL, *STRINGS, *TIMES, *CASTS, *SKIPPED]

# What Spark evaluates, and we leave to it.
OF_SPARK = listed("""
    w + 1 ; w - w ; w * 2.5 ; w % nullif(i, 0) ; m % nullif(i, 0) ; m div nullif(m, 0) ; l div nullif(m, 0) ;
    -w ; abs(w) ; -(1234567890123456789012345678901234.5) ; d || '' ; cast(f as string) ; length(e) ;
    cast(1e7 as string) ; upper(d) like '%E%' ; substring(s, j) ; substring(s, 1, i) ; substr(s from t) ; left(s, j) ;
    right('hello', j) ; v + v ; v - interval 1 day ; v * 2 ; 1.5 * v ; v / 2 ; v div interval 1 minute ; null + v ;
    z > TIMESTAMP '2020-01-01 00:00:00 PST' ; z = '2020-01-01 00:00:00 UTC+2' ; z in ('2020-01-01 00:00:00+1') ;
    cast('2020-01-01 00:00:00 EST' as timestamp) ; try_cast('2020-01-01 00:00:00+01:02:03' as timestamp) ;
    cast('2020-01-01 00:00:00 JST' as timestamp_ntz) ; extract(second from z) ;
    interval '1 02:03:04.5' day to second ; z - interval -'1:30' minute to second
""")

# What Spark refuses, when it reads the text, when it checks the types, or at the first row that it cannot compute.
REFUSED = [
    *(f"{_FAILS} {op} {_NULL}" for op in ("=", "<", "+", "-", "*", "<=>")),
    *(f"{_NULL} {op} {_FAILS}" for op in ("/", "%", "div", "<=>")),
    *(f"{_FAILS_TEXT} {op} {_NULL_TEXT}" for op in ("like", "||")),
    *(
        f"greatest({_NULL}, {_FAILS})",
        f"contains({_FAILS_TEXT}, {_NULL_TEXT})",
        f"trim({_NULL_TEXT} from {_FAILS_TEXT})",
    ),
    *("interval '1second'", "interval '1 day-1 hour'", "interval '1 hourss'", "interval '1.0000000001 seconds'"),
    *listed(r"""
        i + ; (i ; i =  ; i b ; i in () ; case end ; case when b end ; cast(i as nothing) ; cast(i) ; i not 5 ;
        i is 5 ; a b c ; i = not b ; b and and b ; 'open ; i between 1 ; i ! = 2 ; not ; i is null is null ;
        1..2 ; i = = j ; 99999999999999999999999999999999999999999 ; 300Y ; 40000S ; 1e400 ;
        9223372036854775808L ; DATE '2020-13-01' ; TIMESTAMP 'soon' ;
        TIMESTAMP '2020-07-01 12:00 Europe/Berlin' ; INTERVAL 5 parsecs ; INTERVAL '1.5' DAY ; X'GG' ;
        nothing ; i.nothing ; nothing(i) ; upper() ; upper(s, u) ; if(b, 1) ; nullif(i) ; greatest(i) ;
        round() ; abs() ; i = b ; true = 1 ; i = a ; a = 1 ; v = i ; y = i ; s = v ; b < 1 ; i in (1, b) ;
        i in (a) ; s between v and v ; i and b ; not i ; 1 or b ; case when i then 1 end ; if(i, 1, 2) ;
        case when null then 1 end ; if(s, 1, 2) ; b + 1 ; s + s ; a + a ; a + l ; z + 1 ; z + z ; z * 2 ;
        v + 1 ; b * b ; y + y ; v * v ; v / v ; 1 / v ; -b ; -s ; -a ; abs(b) ; abs(a) ; isnan(a) ; isnan(b) ;
        i % b ; e div d ; i - b ; a * 1 ; i - a ; v - z ; coalesce(i, b) ; coalesce(s, v) ; if(b, i, a) ;
        case when b then i else z end ; greatest(i, s) ; least(a, i) ; nullif(i, b) ; year(i) ; hour(b) ;
        substring(s, a) ; left(s, b) ; round(b) ; floor(a) ; round(e, i) ; round(s, u) ; cast(a as int) ;
        cast(b as date) ; cast(i as date) ; cast(y as int) ; cast(v as boolean) ; cast(d as date) ;
        try_cast(a as int) ; cast(x as bigint) ; s = 1 ; s > 1.5 ; s in (1, 2) ; u between 1 and 2 ; i + s ;
        s * 2 ; 1 / 0 ; 1 % 0 ; i / 0 ; i % j ; i div j ; m / 0 ; m % 0 ; m / j ; d / 0 ; 1e0 / 0 ; mod(i, 0) ;
        d % 0 ; i / j ; 2147483647 + 1 ; -2147483648 - 1 ; 2147483647 * 2 ; 127Y + 1Y ;
        9223372036854775807 + 1 ; big + 1 ; big - 10 ; big * 2 ; -big ; abs(big) ; big div -1 ; -t ; abs(t) ;
        t * t ; t + t ; cast(big as int) ; cast(d as int) ; cast(f as bigint) ; cast(e as tinyint) ;
        cast(l as decimal(1,0)) ; cast(m as decimal(4,2)) ; cast('x' as int) ; cast(s as double) ;
        cast(s as boolean) ; cast(s as date) ; cast(u as timestamp) ; cast('1.5' as int) ; i + '1.5' ;
        cast(w as int) ; cast(d as decimal(10,2)) ; w * w ; w * 1000000000000000000 ; floor(d) ; ceil(f) ;
        s like 'a\\b' ; s like 'a\\' ; s like 'a/b' escape '/' ; s like u escape 'ab' ; s like 'x' escape '' ;
        u like u ; round(2147483647, -1) ; round(t, -2) + t * 100Y ; interval 2147483647 weeks * 1000000 ;
        v * 1000000000000 ; v / 0 ; v div interval 0 seconds ;
        z + interval 106751991 days + interval 106751991 days ; case when i > 0 then 1 / 0 end ;
        coalesce(i, 1 / 0) ; b and 1 / 0 > 1 ; if(b, i / 0, 0) ; i = 0 and i / i > 1 ; b or i / j > 1 ;
        not (i / j > 1) ; i / j > 1 and b ; j <> 0 or i / j > 1 ; greatest(i, i / j) ; i in (1, 1 / 0) ;
        a - 'x' ; z > 'soon' ; a = 'x' ; b = 'perhaps' ; 'a' and b ; hour('x') ; year('x') ; left(s, 'x')
    """),
]
