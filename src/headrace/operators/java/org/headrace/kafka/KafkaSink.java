package org.headrace.kafka;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes a batch of rows into Kafka. The columns are topic, partition, key, value, headers, and where it has a name the
 * part of the batch that a row is in. Without it, the number of Spark's partition is the part's name.
 */
public final class KafkaSink {
  private KafkaSink() {}

  /** Writes a batch, each part in a transaction that also holds the number of the batch. */
  public static int writeExactlyOnce(
      Dataset<Row> frame, Map<String, String> producer, String name, String marker, long batch, boolean reuse) {
    Transactions transactions = new Transactions(new HashMap<>(producer), name, marker, reuse);
    return write(frame, new TransactionalWriter(transactions, batch));
  }

  /** Writes a batch; what fails is not tried again. */
  public static int writeAtMostOnce(Dataset<Row> frame, Map<String, String> producer) {
    return write(frame, new OnceWriter(new HashMap<>(producer)));
  }

  /** Ends what a crash left open in the transactions of the parts, so that readers do not wait for it. */
  public static void recover(
      Map<String, String> producer, String name, String marker, List<String> parts, boolean reuse) {
    Transactions transactions = new Transactions(new HashMap<>(producer), name, marker, reuse);
    for (String part : parts) {
      transactions.release(transactions.open(part));
    }
  }

  /** Closes the producers that are kept for a sink. */
  public static void close(String name) {
    Transactions.close(name);
  }

  private static int write(Dataset<Row> frame, PartitionWriter writer) {
    JavaRDD<InternalRow> rows = frame.queryExecution().toRdd().toJavaRDD();
    rows.foreachPartition(writer);
    return rows.getNumPartitions();
  }
}
