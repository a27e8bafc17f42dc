package org.headrace.changelog;

import java.nio.ByteBuffer;
import java.util.function.ObjLongConsumer;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;

/** Rows and how often each is there: one of several sets that share a state, told apart by their number. */
final class Multiset {
  private final MapState<byte[], Long> state;
  private final byte number;

  Multiset(MapState<byte[], Long> state, int number) {
    this.state = state;
    this.number = (byte) number;
  }

  /** Take in a change of a row and return how often it was there before. */
  long change(byte[] row, long weight) {
    byte[] key = ByteBuffer.allocate(row.length + 1).put(number).put(row).array();
    Long known = state.getValue(key);
    long before = known == null ? 0 : known;
    long after = Operator.counted(before, weight);
    if (after == 0) {
      if (known != null) {
        state.removeKey(key);
      }
    } else {
      state.updateValue(key, after);
    }
    return before;
  }

  /** Show every row with how often it is there. */
  void each(ObjLongConsumer<byte[]> consumer) {
    scala.collection.Iterator<Tuple2<byte[], Long>> entries = state.iterator();
    while (entries.hasNext()) {
      Tuple2<byte[], Long> entry = entries.next();
      byte[] key = entry._1();
      if (key[0] == number) {
        byte[] row = new byte[key.length - 1];
        System.arraycopy(key, 1, row, 0, row.length);
        consumer.accept(row, entry._2());
      }
    }
  }
}
