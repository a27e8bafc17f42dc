package org.headrace.kafka;

import java.io.Serializable;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The transactions of one sink, one sequence of them per part of its batches. The number of the last batch that a part has
 * written is an offset of a consumer group of that part's own, committed in the same transaction as the rows. To open a
 * session fences every other writer of the part.
 */
final class Transactions implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Duration CLOSING = Duration.ofSeconds(5);
  private static final Map<String, Session> KEPT = new ConcurrentHashMap<>();
  private final HashMap<String, String> settings;
  private final String name;
  private final String marker;
  private final boolean reuse;

  /** Names the sink, and the topic under whose name batch numbers are committed. */
  Transactions(HashMap<String, String> settings, String name, String marker, boolean reuse) {
    this.settings = settings;
    this.name = name;
    this.marker = marker;
    this.reuse = reuse;
  }

  /** A producer that alone may write for a part, and the last batch that is written. */
  static final class Session {
    final String id;
    final KafkaProducer<byte[], byte[]> producer;
    private final TopicPartition mark;
    long lastBatch;

    Session(String id, KafkaProducer<byte[], byte[]> producer, TopicPartition mark, long lastBatch) {
      this.id = id;
      this.producer = producer;
      this.mark = mark;
      this.lastBatch = lastBatch;
    }

    void commit(long batch) {
      Map<TopicPartition, OffsetAndMetadata> written = Map.of(mark, new OffsetAndMetadata(batch + 1));
      producer.sendOffsetsToTransaction(written, new ConsumerGroupMetadata(id));
      org.headrace.Faults.reach("kafka-before-commit");
      producer.commitTransaction();
      lastBatch = batch;
    }
  }

  Session open(String part) {
    String id = name + "-" + part;
    Session kept = KEPT.remove(id);
    return kept != null ? kept : begin(id);
  }

  private Session begin(String id) {
    Properties properties = new Properties();
    properties.putAll(settings);
    properties.put("transactional.id", id);
    ByteArraySerializer bytes = new ByteArraySerializer();
    KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes);
    try {
      producer.initTransactions();
      TopicPartition mark = new TopicPartition(marker, 0);
      return new Session(id, producer, mark, lastBatch(id, mark));
    } catch (RuntimeException error) {
      producer.close(CLOSING);
      throw error;
    }
  }

  private long lastBatch(String id, TopicPartition mark) {
    Properties properties = new Properties();
    properties.putAll(settings);
    ListConsumerGroupOffsetsSpec group = new ListConsumerGroupOffsetsSpec();
    try (Admin admin = Admin.create(properties)) {
      OffsetAndMetadata written =
          admin
              .listConsumerGroupOffsets(
                  Map.of(id, group), new ListConsumerGroupOffsetsOptions().requireStable(true))
              .partitionsToOffsetAndMetadata(id)
              .get()
              .get(mark);
      return written == null ? -1 : written.offset() - 1;
    } catch (ExecutionException error) {
      throw new IllegalStateException("the last batch written cannot be read", error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", error);
    }
  }

  void release(Session session) {
    if (!reuse || KEPT.putIfAbsent(session.id, session) != null) {
      session.producer.close(CLOSING);
    }
  }

  void discard(Session session) {
    session.producer.close(Duration.ZERO); // the transaction stays open until the next session fences it
  }

  static void close(String name) {
    for (Map.Entry<String, Session> each : KEPT.entrySet()) {
      if (each.getKey().startsWith(name + "-") && KEPT.remove(each.getKey(), each.getValue())) {
        each.getValue().producer.close(CLOSING);
      }
    }
  }
}
