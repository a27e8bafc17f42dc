package org.headrace.kafka;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;

/** Writes the rows of one partition of a batch at most once: a second attempt writes none. */
final class OnceWriter extends PartitionWriter {
  private static final long serialVersionUID = 1L;
  private final Map<String, String> settings;

  OnceWriter(Map<String, String> settings) {
    this.settings = settings;
  }

  @Override
  public void call(Iterator<InternalRow> rows) throws Exception {
    if (!rows.hasNext()) {
      return;
    }
    if (TaskContext.get().attemptNumber() > 0) {
      drain(rows);
      return;
    }
    AtomicReference<Exception> failure = new AtomicReference<>();
    Callback callback = remember(failure);
    ByteArraySerializer bytes = new ByteArraySerializer();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(new HashMap<>(settings), bytes, bytes)) {
      while (rows.hasNext() && failure.get() == null) {
        producer.send(record(rows.next()), callback);
      }
      producer.flush();
    }
    check(failure);
  }
}
