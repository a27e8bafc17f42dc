package org.headrace.patterns;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The rows of one key that can still be asked for, in order, each with its number. */
final class Rows {
  private long first;
  private List<UnsafeRow> kept = new ArrayList<>();

  Rows(long first) {
    this.first = first;
  }

  /** Return the number of the first row that is kept. */
  long first() {
    return first;
  }

  /** Return the number that the next row will have. */
  long end() {
    return first + kept.size();
  }

  void add(UnsafeRow row) {
    kept.add(row);
  }

  /** Return a row by its number, or null if there is none. */
  UnsafeRow get(long number) {
    return number < first || number >= end() ? null : kept.get((int) (number - first));
  }

  List<UnsafeRow> all() {
    return kept;
  }

  /** Forget the rows before a number. */
  void forget(long before) {
    int count = (int) Math.max(0, Math.min(before, end()) - first);
    if (count > 0) {
      kept = new ArrayList<>(kept.subList(count, kept.size()));
      first += count;
    }
  }
}
