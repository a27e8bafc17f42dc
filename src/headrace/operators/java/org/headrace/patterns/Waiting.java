package org.headrace.patterns;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * What is known of a key without a look at its work: the rows that wait for the watermark, when their search can give
 * something, and for when the key has a timer. Times are in milliseconds.
 */
final class Waiting {
  /** How large the rows may be that are read and written with every batch; more are put aside. */
  static final int ROOM = 8 << 10;

  private static final byte VERSION = 1;
  /** The size of what stands before the rows, and of that before rows that are not there. */
  private static final int HEAD = 72;

  private static final int BARE = 32;
  private static final int WORKS = 1;
  private static final int OPEN = 2;
  private static final int URGENT = 4;
  private static final int ASIDE = 8;

  /** Rows that wait, besides those that were put aside. */
  final List<UnsafeRow> rows = new ArrayList<>();
  /** Whether there are rows that were put aside; they came before the others. */
  boolean aside;
  /** Whether something of the rows that were searched is remembered. */
  boolean works;
  /** Whether a search is open. */
  boolean open;
  /** Whether any row can bring something about, also one that can neither begin nor end a match. */
  boolean urgent;
  /** When the key is called; never, if it has no timer. */
  long timer = Matcher.NEVER;
  /** When the passing of time alone gives something. */
  long due = Matcher.NEVER;
  /** When the passing of time alone lets something be forgotten. */
  long over = Matcher.NEVER;

  /** The first and the last time of a row that waits. */
  long from = Matcher.NEVER;

  long to = Long.MIN_VALUE;
  /** The first time of a row that can begin a match. */
  long begins = Matcher.NEVER;
  /** The first and the last time of a row that can end one. */
  long ends = Matcher.NEVER;

  long endsTo = Long.MIN_VALUE;

  boolean isEmpty() {
    return from == Matcher.NEVER && !works;
  }

  /** Let a row wait. */
  void add(UnsafeRow row, long time, Prospects prospects) {
    rows.add(row);
    from = Math.min(from, time);
    to = Math.max(to, time);
    if (prospects.certain) {
      return;
    }
    if (prospects.mayBegin(row)) {
      begins = Math.min(begins, time);
    }
    if (prospects.mayEnd(row)) {
      ends = Math.min(ends, time);
      endsTo = Math.max(endsTo, time);
    }
  }

  /** Let no row wait any more. */
  void clear() {
    rows.clear();
    from = Matcher.NEVER;
    to = Long.MIN_VALUE;
    begins = Matcher.NEVER;
    ends = Matcher.NEVER;
    endsTo = Long.MIN_VALUE;
  }

  byte[] write() {
    boolean bare = from == Matcher.NEVER;
    byte[] chunk = Chunk.of(rows);
    byte[] bytes = new byte[(bare ? BARE : HEAD) + chunk.length];
    int flags = (works ? WORKS : 0) | (open ? OPEN : 0) | (urgent ? URGENT : 0) | (aside ? ASIDE : 0);
    bytes[0] = VERSION;
    bytes[1] = (byte) flags;
    put(bytes, 8, timer, due, over);
    if (!bare) {
      put(bytes, BARE, from, to, begins, ends, endsTo);
      System.arraycopy(chunk, 0, bytes, HEAD, chunk.length);
    }
    return bytes;
  }

  private static void put(byte[] bytes, int at, long... times) {
    for (int i = 0; i < times.length; i++) {
      Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + at + 8L * i, times[i]);
    }
  }

  private static long time(byte[] bytes, int number) {
    return Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + 8L * number);
  }

  /** @param bytes null of a key that nothing is known of */
  static Waiting read(byte[] bytes, int columns) {
    Waiting waiting = new Waiting();
    if (bytes == null) {
      return waiting;
    }
    int version = bytes[0];
    if (version != VERSION) {
      throw new IllegalStateException("rows that wait, of version " + version + ", cannot be read");
    }
    int flags = bytes[1];
    waiting.works = (flags & WORKS) != 0;
    waiting.open = (flags & OPEN) != 0;
    waiting.urgent = (flags & URGENT) != 0;
    waiting.aside = (flags & ASIDE) != 0;
    waiting.timer = time(bytes, 1);
    waiting.due = time(bytes, 2);
    waiting.over = time(bytes, 3);
    if (bytes.length > BARE) {
      waiting.from = time(bytes, 4);
      waiting.to = time(bytes, 5);
      waiting.begins = time(bytes, 6);
      waiting.ends = time(bytes, 7);
      waiting.endsTo = time(bytes, 8);
      Chunk.forEach(bytes, HEAD, columns, waiting.rows::add);
    }
    return waiting;
  }
}
