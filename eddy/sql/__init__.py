"""SQL expression texts, evaluated over Arrow columns as Spark would."""

from eddy.sql.arrays import truth
from eddy.sql.expression import Bound, Comparison, Expression, bind_pair
from eddy.sql.parsing import parse, parse_interval, parse_select, parse_type
from eddy.sql.spelled import ambiguous, backticked
from eddy.sql.tree import Column

__all__ = [
    "Bound",
    "Column",
    "Comparison",
    "Expression",
    "ambiguous",
    "backticked",
    "bind_pair",
    "parse",
    "parse_interval",
    "parse_select",
    "parse_type",
    "truth",
]
