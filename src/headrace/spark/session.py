"""Settings go in, a Spark session with Headrace's defaults comes out."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError
from headrace.jars.fetch import is_present, jars
from headrace.operators.library import agent, library
from headrace.plan.settings import Settings
from headrace.spark.class_archive import java_options

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

FIXED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    "spark.sql.streaming.stopTimeout": "60s",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "200",
}
"""What a right answer depends on."""

DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.driver.memory": "2g",
    "spark.scheduler.mode": "FAIR",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.log.structuredLogging.enabled": "false",
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.files.openCostInBytes": "262144",  # of local files; more would cut a file of some MB into unequal parts
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}
"""What suits a laptop; a cluster brings its own. Of past batches little is kept: each has a plan of its own."""

PLAIN_FILES = "org.headrace.PlainFiles"
"""Local files without a ``chmod`` process for every small one, which would cost a micro-batch a tenth of a second."""


JAVA = "spark.driver.extraJavaOptions"
QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
"""Half of the work of a JVM that lives for a minute is to compile code that it will hardly use.

With the 48 MB that such a JVM has for compiled code by default, one that runs many queries stops compiling at all.
"""
REAL_TIME_MASTER = "local[64]"
"""A query in real-time mode holds a slot for each partition that it reads and each that it keeps state in."""

REAL_TIME = {"spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2"}
"""Rows on their way to keyed state wait no longer than this for others to travel with."""

_configured: list[tuple[SparkSession, Settings]] = []
"""The session and the settings that were last brought together; to set them again would take a while."""
_taken_over: dict[str, str | None] = {}
"""What the keys that the last application set for itself were before."""


def open_session(
    settings: Settings,
    *,
    master: str | None = None,
    name: str = "headrace",
    kafka: bool = False,
    real_time: bool = False,
    brief: bool = False,
) -> SparkSession:
    """Return the session of this process, started if there is none.

    A session that is there already (a notebook's, a cluster's) is used as it is: only what a right answer
    depends on is set. With ``kafka`` it must be able to reach Kafka. A ``brief`` one is for few rows: its code is
    compiled quickly rather than well.
    """
    active = SparkSession.getActiveSession()
    if active is not None and kafka:
        _check_kafka(active)
    if active is not None and _configured == [(active, settings)]:
        return active
    started = active is None
    if active is None:
        os.environ.setdefault("PYSPARK_PIN_THREAD", "true")
        builder = SparkSession.builder.appName(name).master(master or (REAL_TIME_MASTER if real_time else "local[*]"))
        local = master is None or master.startswith("local")
        if local or is_here(master):
            # functions run in the Python that has what they import, not in the first on the path; and nobody beyond
            # this machine is listened to, whereas the workers of a cluster elsewhere must reach the driver
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        options = {**(DEFAULTS if local else {}), **FIXED, **_java(local), **settings.spark}
        if kafka:
            options["spark.jars"] = _jars(settings, kafka=True)
        else:  # a later application of this process may want Kafka, and this one our operators
            with suppress(HeadraceError):
                options["spark.jars"] = _jars(settings, kafka=is_present("kafka"))
        if real_time:
            options = {**REAL_TIME, **options}
        if real_time and local:  # the shuffle of real-time mode would listen to the whole network
            options[JAVA] += f' "-javaagent:{agent(jars("kafka"))}"'
        if brief and local:
            options[JAVA] += f" {QUICK}"
        if local:
            options = {**_plain_files(), **options}
        own = {key: value for key, value in options.items() if key in settings.spark}
        for key, value in options.items():
            if key not in own:
                builder = builder.config(key, value)
        with _in_a_file(own):
            active = builder.getOrCreate()
    _configure(active, settings, started=started)
    return active


@contextmanager
def _in_a_file(options: Mapping[str, str]) -> Iterator[None]:
    """Give options to a JVM that starts meanwhile by a file of this user, not where everybody sees its command line."""
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    with NamedTemporaryFile("w", encoding="utf-8", prefix="headrace-", suffix=".conf") as file:
        file.writelines(f"{_escaped(key)}={_escaped(value)}\n" for key, value in options.items())
        file.flush()
        arguments = f"--properties-file {shlex.quote(file.name)} --load-spark-defaults"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"{arguments} {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            del os.environ["PYSPARK_SUBMIT_ARGS"]
            if before is not None:
                os.environ["PYSPARK_SUBMIT_ARGS"] = before


def _escaped(text: str) -> str:
    r"""Return a text as a file of Java's properties has it.

    >>> print(_escaped("a b=c:\\d"))
    a\u0020b\u003dc\u003a\u005cd
    """
    return "".join(each if each.isalnum() or each in "._-/" else _in_hex(each) for each in text)


def _in_hex(letter: str) -> str:
    units = letter.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _configure(session: SparkSession, settings: Settings, *, started: bool) -> None:
    """Set what a right answer depends on and what an application asks for.

    What the application before it in the same session had asked for is taken back.
    """
    if any(shared is session for shared, _ in _configured):
        for key, value in _taken_over.items():
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)
    _taken_over.clear()
    own = {key: value for key, value in settings.spark.items() if _is_changeable(session, key)}
    for key, value in own.items():
        _taken_over[key] = DEFAULTS.get(key) if started else session.conf.get(key, None)
        session.conf.set(key, value)
    for key, value in FIXED.items():
        if key not in own and _is_changeable(session, key):
            session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", str(settings.shuffle_partitions))
    _configured[:] = [(session, settings)]


def is_here(master: str | None) -> bool:
    """Say whether a standalone master is on this machine and cannot be reached from others.

    >>> [is_here(each) for each in ("spark://127.0.0.1:7077", "spark://[::1]:7077", "spark://localhost:7077")]
    [True, True, True]
    >>> [is_here(each) for each in ("spark://127.0.0.1:7077,10.0.0.7:7077", "spark://node-1:7077", "yarn")]
    [False, False, False]
    """
    if master is None or not master.startswith("spark://"):
        return False
    hosts = [each.rpartition(":")[0].strip("[]") for each in master.removeprefix("spark://").split(",")]
    return all(host == "localhost" or _is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False  # a name: whether it means this machine is for its network to say


def _is_changeable(session: SparkSession, key: str) -> bool:
    return session.conf.isModifiable(key) or key.startswith("spark.sql.streaming.stateStore.rocksdb")


def _java(local: bool) -> dict[str, str]:
    """Return the options of the driver's JVM.

    Its log says what nobody else reports. On a laptop it collects garbage for throughput, which makes reading
    JSON about a sixth faster, and takes its classes from an archive if there is one.
    """
    configuration = Path(__file__).with_name("log4j2.properties").resolve().as_uri()
    logging = f"-Dlog4j2.configurationFile={configuration}"
    return {JAVA: f"-XX:+UseParallelGC {java_options()} {logging}" if local else logging}


def _jars(settings: Settings, *, kafka: bool) -> str:
    """Return the jars that Spark needs: the user's own if he names some, and always our library."""
    connector = jars("kafka") if kafka else []
    ours = library(connector)
    own = settings.spark.get("spark.jars") or settings.spark.get("spark.jars.packages")
    if own is not None:
        return ",".join(filter(None, [settings.spark.get("spark.jars"), str(ours)]))
    return ",".join(str(jar) for jar in (*connector, ours))


def _plain_files() -> dict[str, str]:
    """Return what lets Hadoop use our local files; it asks for them before Spark has loaded any jar."""
    with suppress(HeadraceError):
        jar = str(library([]).resolve())  # the archive of classes fits one path alone
        return {"spark.driver.extraClassPath": jar, "spark.hadoop.fs.file.impl": PLAIN_FILES}
    return {}


def check_operators(session: SparkSession) -> None:
    """Raise if a session cannot keep rows that change current."""
    jvm: Any = session._jvm
    if isinstance(jvm.org.headrace.changelog.Session, JavaClass):
        return
    raise HeadraceError(
        "this Spark session was started without Headrace's operators",
        detail="What a session can load is settled when its JVM starts.",
        hint=f"Start it with spark.jars = {library([])}, or let Headrace start the session.",
    )


def _check_kafka(session: SparkSession) -> None:
    jvm: Any = session._jvm
    if isinstance(jvm.org.headrace.kafka.KafkaSink, JavaClass):
        return
    connector = jars("kafka")
    names = ",".join(str(jar) for jar in (*connector, library(connector)))
    raise HeadraceError(
        "this Spark session was started without Kafka",
        detail="What a session can reach is settled when its JVM starts.",
        hint=f"Start it with spark.jars = {names}, or let Headrace start the session.",
    )
