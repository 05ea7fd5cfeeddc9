"""A job from its file to its end."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import eddy
from eddy.errors import QueryError
from eddy.jobs.config.config import Job, load
from eddy.jobs.config.file_paths import display_path
from eddy.jobs.config.overrides import from_command, from_spark
from eddy.jobs.dist import PACKAGE
from eddy.jobs.run.calls_saved import tell_savings
from eddy.jobs.run.checking import find_remembered, find_state
from eddy.jobs.run.checks.warnings import warn_of_rejects
from eddy.jobs.run.error_text import EXPECTED, explain_error
from eddy.jobs.run.log_lines import JSON, TEXT, log_as_json
from eddy.jobs.run.one_pass import make_batch, run_once
from eddy.jobs.run.packages import describe_missing
from eddy.jobs.run.progress_line import InCheckpoint, Teller, Total
from eddy.jobs.run.sinks import Startable, write_answer
from eddy.jobs.run.skew import tell_skew
from eddy.jobs.run.stopping import NOT_BEGUN, Stop, last_batch
from eddy.jobs.run.watching import LogTeller, open_metrics
from eddy.jobs.sources.known_columns import find_columns
from eddy.jobs.sources.registry import make_source
from eddy.query.state_need import NOT_KEPT
from eddy.spark.after.select import select_after
from eddy.spark.layout.planning import CELLS
from eddy.spark.progress import collect
from eddy.spark.progress import find_run as of_run

POLL_SECONDS = 0.2
"""Seconds between two looks at a query: soon for a person, and nothing beside a micro-batch."""

CHECKOUT = Path(__file__).resolve().parents[2]
"""Where our folders stand beside each other, if this is a checkout."""


def run(
    file: str,
    *,
    sets: Sequence[str] = (),
    profile: str | None = None,
    quiet: bool = False,
    live: bool = False,
    log: str = TEXT,
) -> int:
    """Start a job, tell of its progress, and stay to its end.

    It may also be stopped.
    """
    given = submitted_settings()
    job = load(file, [*from_spark(given), *map(from_command, sets)], profile, find_columns)
    stop, teller = Stop(), make_teller(job, quiet=quiet, live=live, log=log)
    teller.begin(job)
    for warning in () if job.members else warn_of_rejects(job):
        teller.say(f"warning: {warning}")
    stop.expect()
    with open_metrics(job, teller):
        spark = session(job, given, quiet=quiet)
        stop.listen(spark)
        try:
            if job.is_batch:
                run_once(job, answer(job, spark), stop, teller)
            else:
                run_stream(job, spark, stop, teller)
        except EXPECTED as error:
            # Spark and its connectors may say what they were given.
            raise QueryError(explain_error(error, job.hide).removeprefix("error: ")) from error
        finally:
            spark.stop()
    return 0


def make_teller(job: Job, *, quiet: bool, live: bool, log: str) -> Teller:
    """Make what tells of the job, for people or for machines."""
    if log == JSON:
        log_as_json(job.hide, {"query": job.name, "policy": job.policy["name"]})
        return LogTeller()
    return Teller(quiet=quiet, live=live and job.sink["format"] != "console")


def run_stream(job: Job, spark: SparkSession, stop: Stop, teller: Teller) -> None:
    """Write the answer micro-batch by micro-batch, and what is put aside beside it."""
    writer, *aside = prepare(job, spark, stop)
    queries = [start(one, job) for one in (writer, *aside)]
    if job.checkpoint:
        teller.go_on(Total(InCheckpoint(spark, job.checkpoint)))
    try:
        for query in queries:
            follow(query, stop, teller if query is queries[0] else Teller(quiet=True, live=False), queries)
    finally:
        for query in queries:
            query.stop()
    told = report(queries[0])
    for line in (*tell_savings(job.queries, told), *tell_skew(told)):
        teller.say(line)
    teller.end(tell_end(job, queries[0], stopped=stop.asked))


def start(writer: Startable, job: Job) -> StreamingQuery:
    """Start a query; what Java alone says does not name the folder that it was about."""
    try:
        return writer.start()
    except Py4JJavaError as error:
        if not job.checkpoint or describe_missing(str(error)) is not None:
            raise
        told = explain_error(error, job.hide).removeprefix("error: ")
        raise QueryError(
            f'the checkpoint "{display_path(job.checkpoint)}" or the folder of the sink cannot be used by Spark: '
            f"{told}\n  restore what Spark has written there, or name another folder"
        ) from error


def submitted_settings() -> dict[str, str]:
    """The settings that spark-submit was given; none without it."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def session(job: Job, given: Mapping[str, str], *, quiet: bool) -> SparkSession:
    """Make a session with the settings of the file.

    Those that spark-submit was given stay.
    """
    settings = {"spark.sql.shuffle.partitions": str(job.engine["cells"] or CELLS), **job.spark}
    # Workers find what we find, if it is there: the checkout or the zip, and the folder of the job's file. On a cluster
    # this is for the processes that Spark starts beside the driver, for sources written in Python: those get no
    # --py-files.
    beside = os.path.dirname(os.path.abspath(job.file))
    places = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), beside, place_of_package()]
    settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, places)))
    if Path.cwd() == CHECKOUT:  # a worker begins in our folder, and Python would look there first
        settings["spark.executorEnv.PYTHONSAFEPATH"] = "1"
    if given.get("spark.master", "local").startswith("local") and "spark.pyspark.python" not in {**given, **settings}:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(job.name)
    for name, value in settings.items():
        if name not in given:
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR" if quiet else "WARN")
    send_modules(spark, beside)
    return spark


def place_of_package() -> str:
    """Make a folder in which Python finds only our package.

    A checkout has `jobs`, `policies` and `operators` beside it, and a user's own may be called so. A folder of theirs
    that has no `__init__.py` would lose against one of ours that has one, however late ours comes.
    """
    package = Path(eddy.__file__).parent
    if not (package / "jobs").is_symlink():
        return str(package.parent)
    place = tempfile.mkdtemp(prefix="eddy-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    Path(place, PACKAGE).symlink_to(package.resolve(), target_is_directory=True)
    return place


def prepare(job: Job, spark: SparkSession, stop: Stop) -> list[Startable]:
    """Prepare the answer's way to the sink, and that of what is put aside.

    Whoever asks to stop before it has begun need not wait for it.
    """
    try:
        frame = answer(job, spark)
        writers: list[Startable] = [write_answer(frame, job)]
        if job.rejected:
            writers.append(write_answer(eddy.rejected(frame), job, "rejected"))
    except EXPECTED:
        # Whoever stops us may have stopped what Spark was asking for columns.
        if stop.asked:
            raise KeyboardInterrupt from None
        raise
    if stop.asked:
        raise KeyboardInterrupt
    return writers


def answer(job: Job, spark: SparkSession) -> DataFrame:
    """Give the query over its sources, or all queries."""
    assert job.asked is not None  # a job with mistakes has been refused
    try:
        # The rows of a source are read once, however many names it has.
        sources = {job.read_as.get(name, name): make_source(name, values) for name, values in job.sources.items()}
        frames = {
            name: source.table(spark)
            if name in job.tables
            else make_batch(spark, source)
            if job.is_batch
            else source.stream(spark)
            for name, source in sources.items()
        }
        answer = eddy.attach(
            job.asked,
            frames,
            policy=job.policy,
            index=job.index,
            cache_memory=job.engine["cache_memory"],
            cache_state=job.engine["cache_state"],
            cells=job.engine["cells"],
            pushdown=job.engine["pushdown"],
            seed=job.engine["seed"],
            sizes=job.engine["sizes"] or None,
            heavy=job.engine["heavy"] or None,
            state=_demand_state(job),
            remember=find_remembered(job),
            # A batch is over at once: no group waits for a watermark.
            time=None if job.after is None or job.is_batch else job.after.time,
        )
        return select_after(answer, job.after)
    except QueryError as error:
        raise QueryError(f'config "{job.file}": {error}') from error


def _demand_state(job: Job) -> str | None:
    """Say where state is kept, unless a Spark that cannot filter without may choose by itself."""
    state = find_state(job)
    free = state == NOT_KEPT and job.engine["state"] is None and not job.is_batch and not job.rejected
    return None if free else state


def follow(query: StreamingQuery, stop: Stop, teller: Teller, others: Sequence[StreamingQuery] = ()) -> None:
    """Tell of every micro-batch until the query ends.

    It may be stopped before, and is if another one of the job has failed.
    """
    active = True
    while active:
        if any(one.exception() for one in others):
            break
        active = query.isActive
        for progress in query.recentProgress:
            teller.tell(progress)
            collect(progress)
        if active and query.status["isTriggerActive"]:
            teller.say_begun(last_batch(query) + 1)
        if active and stop.asked and stop.may_stop(done=last_batch(query), active=query.status["isTriggerActive"]):
            query.stop()
        time.sleep(POLL_SECONDS)
    failed = next((one for one in others if one.exception()), query)
    try:
        failed.awaitTermination()
    except StreamingQueryException:
        # Whoever stops us may have stopped workers as well, and then the micro-batch is done again by the next start.
        if not stop.asked:
            raise


def report(query: StreamingQuery) -> eddy.Report:
    """Give the report of the cells.

    An empty one is no error here: there may have been nothing to read.
    """
    for progress in query.recentProgress:
        collect(progress)
    return of_run(str(query.runId)).report()


def tell_end(job: Job, query: StreamingQuery, *, stopped: bool) -> str:
    """Say how the query ended, and how to go on."""
    done = last_batch(query)
    if done < 0:
        return NOT_BEGUN if stopped else "finished: there was nothing to read"
    what = f"{'stopped' if stopped else 'finished'} after micro-batch {done}"
    if not stopped:
        return what
    if job.checkpoint:
        return f'{what}; the same command goes on from the checkpoint "{display_path(job.checkpoint)}"'
    return f"{what}; without a checkpoint the next start begins anew: set checkpoint.location to go on instead"


def send_modules(spark: SparkSession, folder: str) -> None:
    """Send modules beside a job's file to other machines.

    Workers on this one find them there. They are those that the job has imported when it starts. One that a function
    imports only while it runs has to be handed over with `--py-files`.
    """
    if str(spark.sparkContext.master).startswith("local"):
        return
    with tempfile.TemporaryDirectory(prefix="eddy-") as place:
        for found in modules_in(folder, dict(sys.modules)):
            spark.sparkContext.addPyFile(str(found if found.is_file() else _pack(found, Path(place))))


def modules_in(folder: str, loaded: Mapping[str, ModuleType]) -> list[Path]:
    """List files and package folders that modules come from.

    Our own are in our zip, and not in the list.
    """
    found = set()
    for name, module in loaded.items():
        top, file = name.partition(".")[0], getattr(module, "__file__", None) or ""
        for place in (Path(folder, f"{top}.py"), Path(folder, top)):
            if top != PACKAGE and (file == str(place) or file.startswith(f"{place}{os.sep}")):
                found.add(place)
    return sorted(found)


def _pack(package: Path, place: Path) -> Path:
    """Pack a package and its data as a zip.

    What is compiled is left out.
    """
    target = place / f"{package.name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as whole:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                whole.write(path, path.relative_to(package.parent))
    return target
