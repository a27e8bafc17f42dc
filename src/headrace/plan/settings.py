"""What SET can change, and its defaults for a laptop."""

from dataclasses import dataclass, field
from datetime import timedelta

from headrace.connectors.options import option, read_options
from headrace.errors import PlanError
from headrace.language.statements import Option, SetOption


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an application runs; ``spark`` holds Spark's own settings."""

    shuffle_partitions: int = option(
        doc="Into how many parts keyed state is cut. It is fixed by the first run of a checkpoint; "
        "on a cluster choose two to three per core.",
        default=2,
        minimum=1,
    )
    trigger: timedelta = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="The least time between the starts of two micro-batches.",
        default=timedelta(0),
        example="1 second",
    )
    state: str | None = option(
        doc="The folder or URL for checkpoints and views; by default `.headrace` beside the application file.",
        default=None,
        example="s3a://bucket/state",
    )
    latency: str = option(
        doc="`micro-batch` publishes batch by batch, exactly once where the sink can; `real-time` publishes each row "
        "within milliseconds, at least once, from Kafka to Kafka, where every step of the query can.",
        default="micro-batch",
        choices=("micro-batch", "real-time"),
    )
    checkpoint_interval: timedelta = option(  # noqa: RUF009 - a field, as dataclasses.field
        doc="How often progress is made durable in real-time mode: after a crash, what was published since the last "
        "time is published again. Rows wait a second or two meanwhile, so a short one is felt by more of them.",
        default=timedelta(minutes=5),
        example="5 minutes",
        minimum=timedelta(seconds=5),
    )
    partial_matches: int = option(
        doc="How many partial matches of a pattern a key may have at a time; with more the query fails rather than "
        "lose one.",
        default=10_000,
        minimum=1,
    )
    spark: dict[str, str] = field(default_factory=dict)


def read_settings(statements: list[SetOption]) -> Settings:
    """Return the settings that SET statements ask for; the last word on a name wins."""
    spark: dict[str, str] = {}
    own: dict[str, Option] = {}
    for each in statements:
        if each.name.lower().startswith("spark."):
            spark[each.name] = _text(each.value)
        else:
            own[each.name.lower()] = Option(each.name.lower(), each.value, each.span, each.value_span)
    if not own:
        return Settings(spark=spark)
    if any(name == "spark" for name in own):
        raise PlanError("SET spark needs a name, for example SET spark.sql.ansi.enabled = true", span=own["spark"].span)
    first = next(iter(own.values()))
    plain = read_options(Settings, tuple(own.values()), owner="SET", owner_span=first.span)
    return Settings(
        shuffle_partitions=plain.shuffle_partitions,
        trigger=plain.trigger,
        state=plain.state,
        latency=plain.latency,
        checkpoint_interval=plain.checkpoint_interval,
        partial_matches=plain.partial_matches,
        spark=spark,
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
