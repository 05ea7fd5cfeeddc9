"""SQL expression texts, evaluated over Arrow as Spark would."""

from eddy.sql.bind.expression import Bound, ComparedPair, Expression, bind_pair, describe_ambiguous
from eddy.sql.bind.writer import backtick
from eddy.sql.text.parsing import parse, parse_interval, parse_select, parse_type
from eddy.sql.values.arrays import truth
from eddy.sql.values.tree import Column

__all__ = [
    "Bound",
    "Column",
    "ComparedPair",
    "Expression",
    "backtick",
    "bind_pair",
    "describe_ambiguous",
    "parse",
    "parse_interval",
    "parse_select",
    "parse_type",
    "truth",
]
