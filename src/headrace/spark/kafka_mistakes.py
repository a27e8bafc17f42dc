"""What a query over Kafka died of goes in, an error that the user can act on comes out."""

import re

from headrace.errors import JobFailed

_RESUMES = "Mend that and run again: it resumes from its checkpoint, and nothing is lost or doubled."


def kafka_failure(text: str, name: str) -> JobFailed | None:
    """Return the error for a chain of causes, None if Kafka has no part in it."""
    gone = re.search(r"(?:partition |topicPartition=|for )([\w.-]+)-(\d+)\b", text)
    place = f" of {gone.group(1)}, partition {gone.group(2)}," if gone is not None else ""
    if "UnknownTopicOrPartitionException" in text or re.search(
        r"partitions? .* (?:are|is|have been) (?:gone|deleted)", text
    ):
        return JobFailed(
            f"{name}: a topic does not exist any more",
            detail=_last(text),
            hint="Was it deleted? Make it again and start anew with --fresh, or take it out of the application.",
        )
    if "OffsetOutOfRangeException" in text or "Some data may have been lost" in text or "KAFKA_DATA_LOSS" in text:
        return JobFailed(
            f"{name}: messages{place} were deleted before they were read",
            detail="The broker keeps them no longer than its retention says.",
            hint="Set allow_data_loss = true on the stream to go on with what is left, or start anew with --fresh.",
        )
    if "ProducerFencedException" in text or "InvalidProducerEpochException" in text:
        return JobFailed(
            f"{name}: another run writes to its sink",
            detail="Of two runs of one application only the newer may write; nothing is doubled.",
            hint="Stop one of them.",
        )
    if "RecordTooLargeException" in text:
        return JobFailed(
            f"{name}: a row is larger than the topic takes",
            detail=_last(text),
            hint='Raise max.message.bytes of the topic and "kafka.max.request.size" of the sink, or write less.',
        )
    if "AuthorizationException" in text or "AuthenticationException" in text:
        return JobFailed(f"{name}: the Kafka brokers do not let us in", detail=_last(text), hint=_RESUMES)
    if "org.apache.kafka.common.errors" in text or "org.apache.kafka.common.KafkaException" in text:
        return JobFailed(
            f"{name}: the Kafka brokers did not do what was asked", detail=_last(text), hint=_RESUMES, passing=True
        )
    return None


def _last(text: str) -> str:
    """Return the innermost cause that Kafka names, without its class."""
    causes = re.findall(r"org\.apache\.kafka\.[\w.$]+: ([^\n]+)", text)
    return f"{causes[-1].strip()[:300].rstrip('.')}." if causes else "Kafka did not say more."
