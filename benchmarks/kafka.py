"""From Kafka to Kafka: throughput beside plain PySpark, and latency in both modes.

    python benchmarks/kafka.py throughput [--rows 2000000] [--rounds 5] [--partitions 4] [--same-collector]
    python benchmarks/kafka.py latency [--rates 1000,10000] [--seconds 30] [--kinds copy,pattern] [--modes real-time]

Both run on a broker of their own, which ends with them.

`throughput` reads a topic of JSON messages, filters and projects them, and writes them to a new topic: Headrace with
either guarantee, and PySpark as its documentation has it (from_json, which takes what does not parse as NULL, and
to_json). Each side is a process of its own with a warm session; the sides take turns, so that they meet the same noise,
and all have the same memory and batches of the same size. Time is from the start of the first batch to the end of the
last, as Spark reports it. What a side has written is read committed and counted after each run; before the first round
it is compared message by message. With --same-collector PySpark gets the garbage collector of Headrace's sessions.

`latency` sends messages at a steady rate, each with its time of sending, and takes the time until a reader of what was
committed has the answer, in real-time mode (at-least-once) and in micro-batches without a pause (exactly-once). What is
sent within --warm seconds after the first answer does not count: Spark still answers what had piled up while it
started. The producer and the application are processes of their own. A message that the application does not answer in
the end is `missing`; one that it answers twice, `repeated`; `late_ms` is how far the producer at worst fell behind its
clock.
The aggregate publishes per key max(time of sending), and latency is taken from that: with the newest row that an answer
covers. In real-time mode that is the row that caused it. In a micro-batch older rows of the same key have waited longer
than the figure says, by up to the time between two batches. The pattern finds two messages of a key that follow each
other, so every message but the first of its key completes a match.
"""

import argparse
import gc
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from plot import Curve, distributions
from stateless import COLLECTOR, SCHEMA, payment

Answer = dict[str, Any]

COLUMNS = ("id", "account", "at", "country", "kind", "note", "amount * 2 AS doubled")
KEPT = "amount > 100"
SIDES = ("exactly-once", "at-least-once", "plain")
BATCHES = 8

KEYS = 100
KINDS = {
    "copy": "SELECT id, account, sent, note FROM events",
    "aggregate": "SELECT account, count(*) AS seen, max(sent) AS sent FROM events GROUP BY account",
    "pattern": """SELECT account, id, sent FROM events MATCH_RECOGNIZE (
        PARTITION BY account ORDER BY ARRIVAL MEASURES b.id AS id, b.sent AS sent
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS b.id > a.id)""",
}
MODES = ("real-time", "micro-batch")
TICK = 0.001
PATIENCE = 120.0
QUIET = 5.0
"""Seconds without an answer after which none is waited for."""


class Process:
    """One role in a process of its own, and in a group of its own: it is told lines of JSON, and answers them."""

    def __init__(self, role: str, log: Path, *arguments: str) -> None:
        self.role, self.log = role, log
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "work", role, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """End the process: in its own time if all went well."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60 if kind is None else 0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def tell(self, **asked: Any) -> None:
        """Ask for something without waiting for it."""
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Answer:
        """Return the answer to what was asked, or raise what the process died of."""
        for line in self.process.stdout:
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        raise self.death()

    def ask(self, **asked: Any) -> Answer:
        """Ask for something and return the answer."""
        self.tell(**asked)
        return self.answer()

    def check(self) -> None:
        """Raise if the process failed."""
        if self.process.poll():
            raise self.death()

    def death(self) -> RuntimeError:
        """Return an error with the last words of the process."""
        return RuntimeError(f"{self.role} died:\n" + "\n".join(self.log.read_text().splitlines()[-30:]))


def reply(**answer: Any) -> None:
    """Answer what this process was asked."""
    print(f"answer {json.dumps(answer)}", flush=True)


@contextmanager
def brokers(folder: Path) -> Iterator["Topics"]:
    """Run a broker in a folder, and end it whatever happens."""
    from headrace.broker.server import Broker

    broker = Broker(folder / "broker")
    try:
        yield Topics(broker.start())
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # impatience must not leave it behind
        broker.stop()


class Topics:
    """The topics of a broker."""

    def __init__(self, servers: str) -> None:
        from confluent_kafka.admin import AdminClient

        self.servers = servers
        self.partitions: dict[str, int] = {}
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})  # deleted topics are no news

    def create(self, name: str, partitions: int) -> str:
        """Make a topic."""
        from confluent_kafka.admin import NewTopic

        self.admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        self.partitions[name] = partitions  # the broker may need a moment to tell
        return name

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self.admin.delete_topics([name])[name].result(30)

    @contextmanager
    def reader(self, topic: str, **settings: Any) -> Iterator[Any]:
        """Read a topic from its beginning, what is committed of it."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        own = {"group.id": "benchmark", "enable.auto.commit": False, "isolation.level": "read_committed"}
        consumer = Consumer({"bootstrap.servers": self.servers, **own, **settings})
        try:
            parts = range(self.partitions[topic])
            consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in parts])
            yield consumer
        finally:
            consumer.close()

    def read(self, topic: str, take: Callable[[bytes], None] | None = None) -> int:
        """Return how many committed messages a topic holds, after giving each to a function."""
        from confluent_kafka import KafkaError, KafkaException

        count = 0
        with self.reader(topic, **{"enable.partition.eof": True}) as consumer:
            left, until = len(consumer.assignment()), time.monotonic() + PATIENCE
            while left:
                if time.monotonic() > until:
                    raise RuntimeError(f"{topic} cannot be read to its end")
                for message in consumer.consume(10_000, 0.2):
                    error = message.error()
                    if error is None:
                        count += 1
                        if take is not None:
                            take(message.value())
                    elif error.code() == KafkaError._PARTITION_EOF:
                        left -= 1
                    else:
                        raise KafkaException(error)
        return count


# Throughput


def fill(servers: str, topic: str, rows: int, partitions: int) -> int:
    """Write payments into a topic; return how many of them the query keeps."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    kept = 0
    for i in range(rows):
        row = payment(i)
        kept += row["amount"] > 100
        while True:
            try:
                producer.produce(topic, json.dumps(row), partition=i % partitions)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise RuntimeError("the broker does not take the messages")
    return kept


def check_rows(topics: Topics, topic: str, rows: int) -> None:
    """Raise unless a topic holds the right answer, each message once."""
    seen = bytearray(rows)

    def take(text: bytes) -> None:
        row = json.loads(text)
        expected = payment(row["id"])
        expected["doubled"] = expected.pop("amount") * 2
        row["at"] = expected["at"] if datetime.fromisoformat(row["at"]) == datetime.fromisoformat(expected["at"]) else 0
        if row != expected or seen[row["id"]]:
            raise RuntimeError(f"{topic} holds a wrong message: {text.decode()}")
        seen[row["id"]] = 1

    topics.read(topic, take)


def headrace(asked: Answer, guarantee: str) -> Answer:
    """Run the query in Headrace; return the figures of its batches."""
    from headrace import Application

    kafka = f"connector = 'kafka', bootstrap_servers = '{asked['servers']}'"
    application = Application(state=asked["state"]).sql(
        f"CREATE STREAM payments ({SCHEMA}) WITH ({kafka}, topic = '{asked['read']}', "
        f"max_rows_per_batch = {asked['batch']});"
        f"CREATE SINK doubled WITH ({kafka}, topic = '{asked['write']}', guarantee = '{guarantee}') "
        f"AS SELECT {', '.join(COLUMNS)} FROM payments WHERE {KEPT};"
    )
    application.start()
    try:
        application.process_available()
        (query,) = application.session().streams.active
        return figures(query)
    finally:
        application.stop()


def plain(spark: Any, asked: Answer) -> Answer:
    """Run the query in PySpark; return the figures of its batches."""
    messages = spark.readStream.format("kafka").option("kafka.bootstrap.servers", asked["servers"])
    messages = messages.option("subscribe", asked["read"]).option("startingOffsets", "earliest")
    messages = messages.option("maxOffsetsPerTrigger", asked["batch"]).load()
    rows = messages.selectExpr(f"from_json(CAST(value AS STRING), '{SCHEMA}') AS row").select("row.*")
    rows = rows.filter(KEPT).selectExpr(*COLUMNS).selectExpr("to_json(struct(*)) AS value")
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", asked["servers"])
    writer = writer.option("topic", asked["write"]).option("checkpointLocation", asked["state"])
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return figures(query)


def figures(query: Any) -> Answer:
    """Return the time from the first batch that read something to the end of the last, and what it was spent on."""
    reports = [each for each in query.recentProgress if each.sources[0].startOffset != each.sources[0].endOffset]
    begins = [datetime.fromisoformat(each.timestamp) for each in reports]
    end = begins[-1] + timedelta(milliseconds=reports[-1].durationMs["triggerExecution"])
    spent: dict[str, int] = {}
    for each in reports:
        for phase, milliseconds in each.durationMs.items():
            spent[phase] = spent.get(phase, 0) + milliseconds
    return {"seconds": (end - begins[0]).total_seconds(), "batches": len(reports), "spent_ms": spent}


def work_side(side: str, same_collector: bool) -> None:
    """Run the query on one side for each line of standard input."""
    if side == "plain":
        from pyspark.sql import SparkSession

        from headrace.jars.fetch import jars

        builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", "2g")
        builder = builder.config("spark.jars", ",".join(str(jar) for jar in jars("kafka")))
        if same_collector:
            builder = builder.config("spark.driver.extraJavaOptions", COLLECTOR)
        spark = builder.getOrCreate()
    for line in sys.stdin:
        asked = json.loads(line)
        reply(**(plain(spark, asked) if side == "plain" else headrace(asked, side)))


def throughput(options: argparse.Namespace, folder: Path) -> None:
    """Let every side copy the topic in turns, and print how they compare."""
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    with brokers(folder) as topics, ExitStack() as processes:
        read = topics.create("payments", options.partitions)
        kept = fill(topics.servers, read, options.rows, options.partitions)
        extra = ["--same-collector"] * options.same_collector
        workers = {side: processes.enter_context(Process(side, folder / f"{side}.log", *extra)) for side in SIDES}
        asked = {"servers": topics.servers, "read": read, "state": str(folder / "state")}
        asked["batch"] = -(-options.rows // BATCHES) + options.partitions  # Spark rounds down in each partition
        for number in range(options.rounds + 1):
            first = number % len(SIDES)
            for side in SIDES[first:] + SIDES[:first]:  # none is always last
                write = topics.create(f"{side}-{number}", options.partitions)
                answer = workers[side].ask(write=write, **asked)
                if number == 0:  # the round before the first warms the JVM
                    check_rows(topics, write, options.rows)
                if (count := topics.read(write)) != kept:
                    raise RuntimeError(f"{side} wrote {count} messages instead of {kept}")
                topics.delete(write)
                shutil.rmtree(folder / "state")
                if number > 0:
                    taken[side].append(answer["seconds"])
                    rates = {"in_per_s": options.rows / answer["seconds"], "out_per_s": kept / answer["seconds"]}
                    rounded = {name: round(rate) for name, rate in rates.items()}
                    print(json.dumps({"round": number, "side": side, **rounded, **answer}), flush=True)
    for ours, theirs in (("exactly-once", "at-least-once"), ("at-least-once", "plain"), ("exactly-once", "plain")):
        ratios = [mine / other for mine, other in zip(taken[ours], taken[theirs], strict=True)]
        best = min(taken[ours]) / min(taken[theirs])
        print(f"time {ours} / {theirs} = {statistics.median(ratios):.2f} (median of rounds), {best:.2f} (best of each)")


# Latency


def work_send() -> None:
    """Send messages at the rate that is asked for until told to end; tell how many, and how far behind the clock."""
    from confluent_kafka import Producer

    asked = json.loads(sys.stdin.readline())
    ending = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ending.set()), daemon=True).start()
    producer = Producer({"bootstrap.servers": asked["servers"], "linger.ms": 0, "acks": 1})
    topic, rate, note = asked["topic"], asked["rate"], "x" * 40
    sent, late = 0, 0.0
    producer.list_topics(topic, 30)  # connects
    reply()
    gc.disable()
    began = time.perf_counter()
    while not ending.is_set():
        passed = time.perf_counter() - began
        due = int(passed * rate) + 1
        late = max(late, passed - sent / rate)
        for i in range(sent, due):
            account = f"a{i % KEYS}"
            text = f'{{"id":{i},"account":"{account}","sent":{time.time_ns() // 1000},"note":"{note}"}}'
            producer.produce(topic, text, account)
        sent = due
        producer.poll(0)
        time.sleep(max(began + max(sent / rate, passed + TICK) - time.perf_counter(), 0))
    if producer.flush(60):
        raise RuntimeError("the broker does not take the messages")
    reply(sent=sent, late_ms=round(late * 1000, 1))


def work_answer() -> None:
    """Run an application until told to end."""
    from headrace import Application

    asked = json.loads(sys.stdin.readline())
    application = Application(state=asked["state"]).sql(asked["sql"]).start()
    stopping = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stopping.set()), daemon=True).start()
    reply()
    try:
        application.wait(stopping, lambda _: None)
    finally:
        application.stop()
    reply()


def application(servers: str, read: str, write: str, kind: str, mode: str) -> str:
    """Return the statements of an application."""
    kafka = f"connector = 'kafka', bootstrap_servers = '{servers}'"
    made = "format = 'upsert'" if kind == "aggregate" else "format = 'json'"
    return (
        f"SET latency = '{mode}';"
        f"CREATE STREAM events (id BIGINT, account STRING, sent BIGINT, note STRING) "
        f"WITH ({kafka}, topic = '{read}');"
        f"CREATE SINK answers WITH ({kafka}, topic = '{write}', {made}) AS {KINDS[kind]};"
    )


def receive(consumer: Any, sender: Process, answering: Process, warm: float, seconds: float) -> tuple[Any, list[Any]]:
    """Take answers until nothing comes any more; return when they count, and each with its time of arrival."""
    arrived: list[tuple[int, bytes]] = []
    counted: tuple[float, float] | None = None
    ending, checked = False, 0
    gc.disable()  # a pause here would look like one of the application's
    last = time.time_ns()
    while True:
        message = consumer.poll(0.1)
        now = time.time_ns()
        if message is not None:
            if message.error():
                raise RuntimeError(str(message.error()))
            arrived.append((now, message.value()))
            last = now
            if counted is None:
                counted = (now / 1000 + warm * 1e6, now / 1000 + (warm + seconds) * 1e6)
        if now > checked + 1e9:
            checked = now
            answering.check()
            sender.check()
            if counted is None and now > last + PATIENCE * 1e9:
                raise RuntimeError("no answer comes")
        if counted is not None and not ending and now / 1000 > counted[1]:
            sender.tell()
            ending, last = True, now
        if ending and now > last + QUIET * 1e9:
            gc.enable()
            return counted, arrived


def measure(topics: Topics, folder: Path, kind: str, rate: int, mode: str, options: argparse.Namespace) -> list[float]:
    """Run one application under load, print its figures, and return its latencies in milliseconds, sorted."""
    name = f"{kind}-{rate}-{mode}"
    read, write = topics.create(f"{name}-in", options.partitions), topics.create(f"{name}-out", options.partitions)
    with (
        Process("answer", folder / "answer.log") as answering,
        Process("send", folder / "send.log") as sender,
        topics.reader(write, **{"fetch.wait.max.ms": 10}) as consumer,
    ):
        answering.ask(sql=application(topics.servers, read, write, kind, mode), state=str(folder / "state"))
        sender.ask(servers=topics.servers, topic=read, rate=rate)
        (begin, end), arrived = receive(consumer, sender, answering, options.warm, options.seconds)
        told = sender.answer()
        answering.ask()
    rows = [(at / 1000, json.loads(text)) for at, text in arrived]
    latencies = sorted((at - row["sent"]) / 1000 for at, row in rows if begin <= row["sent"] < end)
    if kind in ("copy", "pattern"):
        answered = len({row["id"] for _, row in rows})
        repeated = len(rows) - answered
        if kind == "pattern":  # the first message of a key completes nothing
            answered += len({row["account"] for _, row in rows})
    else:
        answered, repeated = sum({row["account"]: row["seen"] for _, row in rows}.values()), 0
    shares = {f"p{100 * share:g}_ms": percentile(latencies, share) for share in (0.5, 0.99, 0.999)}
    shares["most_ms"] = percentile(latencies, 1)
    problems = {"missing": told["sent"] - answered, "repeated": repeated, "late_ms": told["late_ms"]}
    told = {"kind": kind, "rate": rate, "mode": mode, **shares, "count": len(latencies), **problems}
    print(json.dumps(told), flush=True)
    for topic in (read, write):
        topics.delete(topic)
    shutil.rmtree(folder / "state")
    return latencies


def percentile(latencies: list[float], share: float) -> float:
    """Return the latency that a share of them does not exceed."""
    return round(latencies[max(math.ceil(share * len(latencies)), 1) - 1], 2)


def latency(options: argparse.Namespace, folder: Path) -> None:
    """Measure every kind at every rate in both modes, and draw what came out."""
    curves = []
    with brokers(folder) as topics:
        for kind, rate, mode in product(options.kinds, options.rates, options.modes):
            latencies = measure(topics, folder, kind, rate, mode, options)
            panel = kind if kind == "copy" else f"{kind} over {KEYS} keys"
            curves.append(Curve(panel, mode, f"{rate:,} messages/s", latencies))
    if options.plot is not None:
        under = f"Headrace, {os.cpu_count()} cores with broker and load on them, {options.seconds:g} s each, "
        under += f"{options.partitions} partitions"
        options.plot.write_text(distributions("Latency from Kafka to Kafka", under, curves), "utf-8")


def main() -> None:
    """Run a benchmark, or one of the processes of a benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="throughput|latency")
    one = commands.add_parser("throughput")
    one.add_argument("--rows", type=int, default=2_000_000)
    one.add_argument("--rounds", type=int, default=5)
    one.add_argument("--partitions", type=int, default=4)
    one.add_argument("--same-collector", action="store_true")
    two = commands.add_parser("latency")
    two.add_argument("--rates", type=lambda text: [int(each) for each in text.split(",")], default=[1000, 10_000])
    two.add_argument("--seconds", type=float, default=30)
    two.add_argument("--warm", type=float, default=30, help="seconds after the first answer that do not count")
    two.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    two.add_argument("--modes", type=lambda text: text.split(","), default=list(MODES))
    two.add_argument("--partitions", type=int, default=2)
    two.add_argument("--plot", type=Path)
    work = commands.add_parser("work")
    work.add_argument("role", choices=(*SIDES, "send", "answer"))
    work.add_argument("--same-collector", action="store_true")
    options = parser.parse_args()
    if options.command == "work":
        match options.role:
            case "send":
                work_send()
            case "answer":
                work_answer()
            case side:
                work_side(side, options.same_collector)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ctrl-C: what was started is stopped
    with tempfile.TemporaryDirectory(prefix="headrace-benchmark-", ignore_cleanup_errors=True) as folder:
        (throughput if options.command == "throughput" else latency)(options, Path(folder))


if __name__ == "__main__":
    main()
