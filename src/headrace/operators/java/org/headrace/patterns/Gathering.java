package org.headrace.patterns;

import java.util.Arrays;
import java.util.Iterator;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.headrace.rows.Pack;

/**
 * Puts rows of the same key into chunks before they travel to where the key is searched: Spark then moves and sorts
 * chunks, of which there are fewer.
 */
final class Gathering implements MapPartitionsFunction<Row, Row> {
  private static final long serialVersionUID = 1L;
  private static final int LIMIT = 16 << 20;

  @Override
  public Iterator<Row> call(Iterator<Row> rows) {
    return new Iterator<>() {
      private Chunks gathered = new Chunks();
      private int next;

      @Override
      public boolean hasNext() {
        if (next == gathered.count && rows.hasNext()) {
          gathered = gather(rows);
          next = 0;
        }
        return next < gathered.count;
      }

      @Override
      public Row next() {
        Row row = RowFactory.create(gathered.keys[next], gathered.chunks[next].bytes());
        gathered.chunks[next++] = null; // it may be large
        return row;
      }
    };
  }

  private static Chunks gather(Iterator<Row> rows) {
    Chunks gathered = new Chunks();
    for (int size = 0; size < LIMIT && rows.hasNext(); ) {
      Row next = rows.next();
      byte[] row = next.getAs(1);
      gathered.of(next.getAs(0)).add(row);
      size += row.length;
    }
    return gathered;
  }

  /** A chunk for each key, in a table that is searched by the hash that a key begins with. */
  private static final class Chunks {
    private byte[][] keys = new byte[64][];
    private Chunk[] chunks = new Chunk[64];
    private long[] hashes = new long[64];
    private int count;
    /** The number of a key, plus one, at the place that its hash says or the next that was free. */
    private int[] table = new int[128];

    Chunk of(byte[] key) {
      long hash = Pack.hash(key);
      int at = place(hash);
      while (table[at] != 0) {
        int number = table[at] - 1;
        if (hashes[number] == hash && Arrays.equals(keys[number], key)) {
          return chunks[number];
        }
        at = (at + 1) & (table.length - 1);
      }
      if (count == keys.length) {
        grow();
        return of(key);
      }
      table[at] = count + 1;
      keys[count] = key;
      hashes[count] = hash;
      chunks[count] = new Chunk();
      return chunks[count++];
    }

    private int place(long hash) {
      return (int) hash & (table.length - 1);
    }

    private void grow() {
      keys = Arrays.copyOf(keys, 2 * count);
      hashes = Arrays.copyOf(hashes, 2 * count);
      chunks = Arrays.copyOf(chunks, 2 * count);
      table = new int[4 * count];
      for (int i = 0; i < count; i++) {
        int at = place(hashes[i]);
        while (table[at] != 0) {
          at = (at + 1) & (table.length - 1);
        }
        table[at] = i + 1;
      }
    }
  }
}
