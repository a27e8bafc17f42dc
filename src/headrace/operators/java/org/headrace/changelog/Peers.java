package org.headrace.changelog;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Rows in order, and for each where those begin and end that the order does not tell apart. */
final class Peers {
  final List<UnsafeRow> rows;
  final int[] begin;
  final int[] end;

  Peers(List<UnsafeRow> rows, InterpretedOrdering ordering) {
    this.rows = rows;
    begin = new int[rows.size()];
    end = new int[rows.size()];
    int first = 0;
    for (int i = 1; i <= rows.size(); i++) {
      if (i == rows.size() || ordering.compare(rows.get(i - 1), rows.get(i)) != 0) {
        for (int j = first; j < i; j++) {
          begin[j] = first;
          end[j] = i;
        }
        first = i;
      }
    }
  }

  int size() {
    return rows.size();
  }
}
