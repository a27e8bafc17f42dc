package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/** One aggregate of one group: rows with weights go in, the result comes out. */
interface Accumulator {
  /** Begin with no row. */
  void reset();

  /** Take in a row so many times; a negative number takes it back. */
  void add(InternalRow row, long weight);

  Object result();

  void write(DataOutput out) throws IOException;

  void read(DataInput in) throws IOException;
}
