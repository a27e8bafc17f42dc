package org.headrace.late;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Lets the rows through that the watermark has passed; it remembers nothing. */
final class LateOperator extends StatefulProcessor<byte[], Row, Row> {
  private static final long serialVersionUID = 1L;
  static final StructType IN =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("at", DataTypes.LongType)
          .add("row", DataTypes.BinaryType);
  static final StructType OUT =
      new StructType().add("row", DataTypes.BinaryType).add("watermark", DataTypes.LongType);

  @Override
  public void init(OutputMode mode, TimeMode time) {}

  @Override
  public scala.collection.Iterator<Row> handleInputRows(
      byte[] key, scala.collection.Iterator<Row> given, TimerValues timers) {
    long watermark = timers.getCurrentWatermarkInMs();
    return given
        .filter(row -> row.getLong(1) < watermark)
        .map(row -> RowFactory.create(row.get(2), watermark));
  }
}
