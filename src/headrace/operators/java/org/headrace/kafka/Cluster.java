package org.headrace.kafka;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;

/** What is asked of the brokers before and beside the rows: which topics there are, how far a group has come. */
public final class Cluster implements AutoCloseable {
  private final Admin admin;
  private final long patience;

  /** Connects; every question is answered within so many seconds, or fails. */
  public Cluster(Map<String, String> settings, long patience) {
    Properties properties = new Properties();
    properties.putAll(settings);
    properties.put("request.timeout.ms", String.valueOf(patience * 1000));
    properties.put("default.api.timeout.ms", String.valueOf(patience * 1000));
    this.admin = Admin.create(properties);
    this.patience = patience;
  }

  /** Returns the names of all topics that may be seen. */
  public List<String> topics() throws Exception {
    return new ArrayList<>(answer(admin.listTopics().names()));
  }

  /** Returns how many partitions each of the topics has. */
  public Map<String, Integer> partitions(List<String> topics) throws Exception {
    Map<String, Integer> counts = new HashMap<>();
    Collection<TopicDescription> found = answer(admin.describeTopics(topics).allTopicNames()).values();
    for (TopicDescription each : found) {
      counts.put(each.name(), each.partitions().size());
    }
    return counts;
  }

  /** Makes a topic; one that is there already is left as it is. */
  public void create(String topic, int partitions, Map<String, String> configuration) throws Exception {
    Optional<Integer> wanted = partitions > 0 ? Optional.of(partitions) : Optional.empty();
    NewTopic made = new NewTopic(topic, wanted, Optional.empty()).configs(configuration);
    try {
      answer(admin.createTopics(Set.of(made)).all());
    } catch (TopicExistsException known) {
      return;
    }
  }

  /** Tells a consumer group how far its topics are read; keys are topic, colon, partition. */
  public void commit(String group, Map<String, String> offsets) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
    offsets.forEach(
        (place, offset) -> {
          int colon = place.lastIndexOf(':');
          TopicPartition partition =
              new TopicPartition(place.substring(0, colon), Integer.parseInt(place.substring(colon + 1)));
          positions.put(partition, new OffsetAndMetadata(Long.parseLong(offset)));
        });
    answer(admin.alterConsumerGroupOffsets(group, positions).all());
  }

  @Override
  public void close() {
    admin.close(java.time.Duration.ofSeconds(2));
  }

  private <T> T answer(KafkaFuture<T> future) throws Exception {
    try {
      return future.get(patience, TimeUnit.SECONDS);
    } catch (ExecutionException error) {
      if (error.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw error;
    } catch (TimeoutException error) {
      throw new org.apache.kafka.common.errors.TimeoutException("no answer within " + patience + " s");
    }
  }
}
