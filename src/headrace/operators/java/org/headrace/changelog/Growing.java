package org.headrace.changelog;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.headrace.rows.Evaluation;

/** Any aggregate of Spark where no row ever goes: only what the aggregate itself remembers is kept. */
final class Growing implements Accumulator {
  private final Evaluation evaluation;

  Growing(Evaluation evaluation) {
    this.evaluation = evaluation;
  }

  @Override
  public void reset() {
    evaluation.reset();
  }

  @Override
  public void add(InternalRow row, long weight) {
    for (long i = 0; i < weight; i++) {
      evaluation.update(row);
    }
  }

  @Override
  public Object result() {
    return evaluation.result();
  }

  @Override
  public void write(DataOutput out) throws IOException {
    byte[] saved = evaluation.save();
    out.writeInt(saved.length);
    out.write(saved);
  }

  @Override
  public void read(DataInput in) throws IOException {
    byte[] saved = new byte[in.readInt()];
    in.readFully(saved);
    evaluation.load(saved);
  }
}
