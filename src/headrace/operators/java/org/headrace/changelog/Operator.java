package org.headrace.changelog;

import java.time.Duration;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A stateful operator: packed rows of one key go in batch by batch, packed rows with weights come out. */
abstract class Operator extends StatefulProcessor<byte[], Row, Row> {
  private static final long serialVersionUID = 1L;
  static final StructType IN =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("side", DataTypes.IntegerType)
          .add("row", DataTypes.BinaryType)
          .add("weight", DataTypes.LongType);
  static final StructType OUT =
      new StructType().add("row", DataTypes.BinaryType).add("weight", DataTypes.LongType);

  /** How long what is not touched is remembered; null is for ever. */
  private final Duration remembered;

  Operator(Duration remembered) {
    this.remembered = remembered;
  }

  final boolean forgets() {
    return remembered != null;
  }

  final TTLConfig ttl() {
    return remembered == null ? TTLConfig.NONE() : new TTLConfig(remembered);
  }

  static byte[] row(Row in) {
    return in.getAs(2);
  }

  /** Return the changes of one side, what cancels left out. */
  static Changes gather(scala.collection.Iterator<Row> rows) {
    Changes changes = new Changes();
    while (rows.hasNext()) {
      Row in = rows.next();
      changes.add(row(in), in.getLong(3));
    }
    return changes;
  }

  /** Return a count after a change; a row that was never there can go only if it has been forgotten. */
  final long counted(long before, long change) {
    long after = before + change;
    if (after < 0 && !forgets()) {
      throw new IllegalStateException("a row is withdrawn that is not there");
    }
    return Math.max(after, 0);
  }
}
