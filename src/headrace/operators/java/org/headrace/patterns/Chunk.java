package org.headrace.patterns;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Rows of one key as bytes: each behind its size. */
final class Chunk {
  private static final int SIZE = 8; // so that rows stay where words are read fast
  private byte[] bytes = new byte[256];
  private int end;

  static byte[] of(List<UnsafeRow> rows) {
    Chunk chunk = new Chunk();
    rows.forEach(each -> chunk.add(each.getBytes()));
    return chunk.bytes();
  }

  void add(byte[] row) {
    int after = end + SIZE + row.length;
    if (after > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(after, 2 * bytes.length));
    }
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + end, row.length);
    System.arraycopy(row, 0, bytes, end + SIZE, row.length);
    end = after;
  }

  byte[] bytes() {
    return Arrays.copyOf(bytes, end);
  }

  /** Show the rows of a chunk one after the other; they are not copied. */
  static void forEach(byte[] chunk, int columns, Consumer<UnsafeRow> taker) {
    forEach(chunk, 0, columns, taker);
  }

  /** Show the rows of a chunk that begins at a place among other bytes. */
  static void forEach(byte[] chunk, int from, int columns, Consumer<UnsafeRow> taker) {
    int at = from;
    while (at < chunk.length) {
      int size = (int) Platform.getLong(chunk, Platform.BYTE_ARRAY_OFFSET + at);
      UnsafeRow row = new UnsafeRow(columns);
      row.pointTo(chunk, Platform.BYTE_ARRAY_OFFSET + at + SIZE, size);
      taker.accept(row);
      at += SIZE + size;
    }
  }
}
