package org.headrace.kafka;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.api.java.function.VoidFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** Writes the rows of one partition of a batch. */
abstract class PartitionWriter implements VoidFunction<Iterator<InternalRow>> {
  private static final long serialVersionUID = 1L;
  private static final int TOPIC = 0;
  private static final int PARTITION = 1;
  private static final int KEY = 2;
  private static final int VALUE = 3;
  private static final int HEADERS = 4;
  private static final int PART = 5;

  static ProducerRecord<byte[], byte[]> record(InternalRow row) {
    if (row.isNullAt(TOPIC)) {
      throw new IllegalArgumentException("a row has no topic: the column that names it is NULL");
    }
    Integer partition = row.isNullAt(PARTITION) ? null : row.getInt(PARTITION);
    byte[] key = row.isNullAt(KEY) ? null : row.getBinary(KEY);
    byte[] value = row.isNullAt(VALUE) ? null : row.getBinary(VALUE);
    return new ProducerRecord<>(row.getUTF8String(TOPIC).toString(), partition, key, value, headers(row));
  }

  /** Returns the name of the part that a row is in, null where parts go by their number. */
  static String part(InternalRow row) {
    return row.numFields() > PART ? row.getUTF8String(PART).toString() : null;
  }

  private static List<Header> headers(InternalRow row) {
    if (row.isNullAt(HEADERS)) {
      return List.of();
    }
    ArrayData array = row.getArray(HEADERS);
    List<Header> headers = new ArrayList<>(array.numElements());
    for (int i = 0; i < array.numElements(); i++) {
      InternalRow header = array.getStruct(i, 2);
      byte[] value = header.isNullAt(1) ? null : header.getBinary(1);
      headers.add(new RecordHeader(header.getUTF8String(0).toString(), value));
    }
    return headers;
  }

  /** Computes rows that are not wanted: state is kept only by rows that were asked for. */
  static void drain(Iterator<InternalRow> rows) {
    while (rows.hasNext()) {
      rows.next();
    }
  }

  /** Keeps the first failure of a partition's records. */
  static Callback remember(AtomicReference<Exception> failure) {
    return (metadata, error) -> {
      if (error != null) {
        failure.compareAndSet(null, error);
      }
    };
  }

  static void check(AtomicReference<Exception> failure) throws Exception {
    if (failure.get() != null) {
      throw failure.get();
    }
  }
}
