package org.headrace.patterns;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;

/**
 * How many partial matches the searches of a key have together behind each row that some of them have still to read. So
 * they are counted row by row, however rows were cut into batches.
 */
final class Opened {
  private long first;
  private int[] counts = new int[0];
  private int size;

  /** Add the partial matches that a search has behind a row, and return how many there are. */
  int add(long row, int count) {
    int at = (int) (row - first);
    if (at >= counts.length) {
      counts = Arrays.copyOf(counts, Math.max(at + 1, 2 * counts.length));
    }
    size = Math.max(size, at + 1);
    counts[at] += count;
    return counts[at];
  }

  /**
   * Forget the rows before a number: all searches have read them. Where one begins anew behind a failed one, it may read
   * rows again; such searches are not side by side and count for themselves.
   */
  void forget(long before) {
    if (before <= first) {
      return;
    }
    counts = before - first < size ? Arrays.copyOfRange(counts, (int) (before - first), size) : new int[0];
    size = counts.length;
    first = before;
  }

  void write(DataOutputStream out) throws IOException {
    out.writeLong(first);
    out.writeInt(size);
    for (int i = 0; i < size; i++) {
      out.writeInt(counts[i]);
    }
  }

  void read(DataInputStream in) throws IOException {
    first = in.readLong();
    size = in.readInt();
    counts = new int[size];
    for (int i = 0; i < size; i++) {
      counts[i] = in.readInt();
    }
  }
}
