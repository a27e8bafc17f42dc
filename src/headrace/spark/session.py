"""Settings go in, a Spark session with Headrace's defaults comes out."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError
from headrace.jars.fetch import is_present, jars
from headrace.operators.library import agent, library
from headrace.plan.settings import Settings

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
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
}
"""What suits a laptop; a cluster brings its own. Of past batches little is kept: each has a plan of its own."""

PLAIN_FILES = "org.headrace.PlainFiles"
"""Local files without a ``chmod`` process for every small one, which would cost a micro-batch a tenth of a second."""


JAVA = "spark.driver.extraJavaOptions"
REAL_TIME_MASTER = "local[64]"
"""A query in real-time mode holds a slot for each partition that it reads and each that it keeps state in."""

REAL_TIME = {"spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2"}
"""Rows on their way to keyed state wait no longer than this for others to travel with."""

_configured: list[tuple[SparkSession, Settings]] = []
"""The session and the settings that were last brought together; to set them again would take a while."""


def open_session(
    settings: Settings,
    *,
    master: str | None = None,
    name: str = "headrace",
    kafka: bool = False,
    real_time: bool = False,
) -> SparkSession:
    """Return the session of this process, started if there is none.

    A session that is there already (a notebook's, a cluster's) is used as it is: only what a right answer
    depends on is set. With ``kafka`` it must be able to reach Kafka.
    """
    active = SparkSession.getActiveSession()
    if active is not None and kafka:
        _check_kafka(active)
    if active is not None and _configured == [(active, settings)]:
        return active
    if active is None:
        os.environ.setdefault("PYSPARK_PIN_THREAD", "true")
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName(name).master(master or (REAL_TIME_MASTER if real_time else "local[*]"))
        local = master is None or master.startswith("local")
        if local:  # functions run in the Python that has what they import, not in the first on the path
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
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
        if local:
            options = {**_plain_files(), **options}
        for key, value in options.items():
            builder = builder.config(key, value)
        active = builder.getOrCreate()
    for key, value in (*FIXED.items(), *settings.spark.items()):
        if _is_changeable(active, key):
            active.conf.set(key, value)
    active.conf.set("spark.sql.shuffle.partitions", str(settings.shuffle_partitions))
    _configured[:] = [(active, settings)]
    return active


def _is_changeable(session: SparkSession, key: str) -> bool:
    return session.conf.isModifiable(key) or key.startswith("spark.sql.streaming.stateStore.rocksdb")


def _java(local: bool) -> dict[str, str]:
    """Return the options of the driver's JVM.

    Its log says what nobody else reports. On a laptop it collects garbage for throughput, which makes reading
    JSON about a sixth faster.
    """
    configuration = Path(__file__).with_name("log4j2.properties").resolve().as_uri()
    logging = f"-Dlog4j2.configurationFile={configuration}"
    return {JAVA: f"-XX:+UseParallelGC {logging}" if local else logging}


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
        jar = str(library([]))
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
