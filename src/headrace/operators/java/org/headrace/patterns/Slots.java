package org.headrace.patterns;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.headrace.rows.Expressions;

/** Gives the values of slots. */
final class Slots {
  private final Slot[] slots;
  private final Aggregated[] aggregates;
  private final UTF8String[] names;
  private final DataType[] types;

  Slots(Search search) {
    slots = search.slots().toArray(Slot[]::new);
    aggregates = new Aggregated[search.aggregates().size()];
    for (int i = 0; i < aggregates.length; i++) {
      aggregates[i] = new Aggregated(search.aggregates().get(i), search.filters().get(i), search.aggregated());
    }
    names = search.variables().stream().map(UTF8String::fromString).toArray(UTF8String[]::new);
    types = search.columns().stream().map(each -> each.dataType()).toArray(DataType[]::new);
  }

  History history(boolean[] tracked) {
    return new History(slots, tracked, aggregates, names);
  }

  /** Say whether some of the slots that are used can be computed only by looking at every row again. */
  boolean hasWalked(int[][] used) {
    return Arrays.stream(used)
        .flatMapToInt(Arrays::stream)
        .anyMatch(each -> slots[each].kind() == Slot.Kind.AGGREGATE && !aggregates[slots[each].source()].isCopied());
  }

  /** Return the value of a slot as seen from the last row of a path; null is a match without rows. */
  Object value(int number, History history, Path path, Work work, Attempt attempt) {
    Slot slot = slots[number];
    switch (slot.kind()) {
      case MATCH_NUMBER:
        if (attempt.number == 0 && attempt.awaited != null) {
          return null;
        }
        return Long.valueOf(attempt.number > 0 ? attempt.number : work.matches + 1);
      case TIMED_OUT:
        return attempt.awaited != null;
      case AWAITED:
        return attempt.awaited == null ? null : awaited(attempt.awaited);
      case AGGREGATE:
        return history.aggregate(path, number, attempt.start, work.rows);
      default:
        long row = row(number, history, path);
        return row < 0 ? null : at(slot, row, path, work.rows);
    }
  }

  /** Return the number of the row that a slot reads; negative if there is none. */
  long row(int number, History history, Path path) {
    if (path == null) {
      return -1;
    }
    Slot slot = slots[number];
    long row = slot.isCurrent(path.variable) ? path.row : history.row(path.registers, number);
    return row < 0 ? -1 : row + slot.shift();
  }

  private Object at(Slot slot, long row, Path path, Rows rows) {
    if (slot.kind() == Slot.Kind.VALUE) {
      UnsafeRow found = rows.get(row);
      return found == null ? null : Expressions.value(found, slot.source(), types[slot.source()]);
    }
    Path step = path;
    while (step != null && step.row > row) {
      step = step.before;
    }
    return step == null || step.row != row ? null : names[step.variable];
  }

  private GenericArrayData awaited(boolean[] variables) {
    List<UTF8String> found = new ArrayList<>();
    for (int i = 0; i < variables.length; i++) {
      if (variables[i]) {
        found.add(names[i]);
      }
    }
    return new GenericArrayData(found.toArray());
  }
}
