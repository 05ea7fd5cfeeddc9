"""What not every Spark can do, as marks of tests."""

from __future__ import annotations

import pytest

from eddy.spark.versions import HAS_ARROW_UDF

WITHOUT_STATE = pytest.mark.skipif(not HAS_ARROW_UDF, reason="filters without a state need Spark 4.1")
WATERMARKS_IN_SQL = pytest.mark.skipif(not HAS_ARROW_UDF, reason="Spark's SQL has STREAM and WATERMARK from 4.1 on")
