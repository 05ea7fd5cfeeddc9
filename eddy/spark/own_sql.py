"""SQL that Spark alone evaluates: asked of Spark, and its mistakes told as ours are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException

from eddy.errors import QueryError, shorten

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_END = re.compile(r"\s*(?:SQLSTATE: \w+|== SQL|;\s*\n|\n\s*\n).*", re.DOTALL)
"""Where Spark's message is over: its code, the text once more, its plan."""


def ask_spark(make: Callable[[], DataFrame], where: str) -> DataFrame:
    """Make a frame, and let Spark look at its expressions now.

    With Spark Connect it would else look at them when the frame is asked for its rows.
    """
    try:
        found = make()
        _ = found.schema
    except (AnalysisException, ParseException) as error:
        raise QueryError(f"{where}: {describe_spark_error(error)}") from error
    return found


def describe_spark_error(error: Exception) -> str:
    r"""Write what Spark says of a text, without its plan.

    >>> describe_spark_error(ValueError("[NO] There is no f. SQLSTATE: 42883; line 1 pos 0;\n'Project"))
    'Spark says: [NO] There is no f.'
    """
    return f"Spark says: {shorten(_END.sub('', str(error)).strip())}"
