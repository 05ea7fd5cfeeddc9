"""Runs jobs one after the other in one driver, and writes down what each gave: spark-submit cases.py FOLDER.

A job is a TOML file in a folder. Beside it comes a JSON file with the rows of each micro-batch, its answer if the
sink is memory, and, if it failed, what a person is told.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from eddy.jobs.config.config import load
from eddy.jobs.run import error_text
from eddy.jobs.run.run_job import answer
from eddy.jobs.run.sinks import write_answer


def ran(file: Path, spark: SparkSession) -> dict[str, Any]:
    """What a job gave."""
    job = load(file)
    query = write_answer(answer(job, spark), job).start()
    try:
        query.awaitTermination()
    except error_text.EXPECTED as error:
        return {"batches": [], "answers": [], "told": error_text.explain_error(error)}
    batches = [progress["numInputRows"] for progress in query.recentProgress]
    kept = job.sink["format"] == "memory"
    answers = spark.table(query.name).toArrow().to_pylist() if kept else []
    return {"batches": batches, "answers": answers, "told": ""}


def main(place: Path) -> None:
    """Run them all in the session that spark-submit has asked for."""
    spark = SparkSession.builder.getOrCreate()
    try:
        for file in sorted(place.glob("*.toml")):
            file.with_suffix(".json").write_text(json.dumps(ran(file, spark), default=str))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
