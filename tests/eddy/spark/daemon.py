"""What Spark starts to fork its Python workers from; this one has imported what every worker needs.

A task that fails takes its worker with it, and tests let many fail: each new worker would import pandas, Arrow and the
engine again, which takes longer than all else that it does.
"""

from __future__ import annotations

import pandas as pd
import pyarrow.compute as pc
from pyspark import daemon

import eddy.spark.cell

NEEDED = (pd, pc, eddy.spark.cell)

if __name__ == "__main__":
    daemon.manager()
