package org.headrace.patterns;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.headrace.rows.Expressions;

/** Matches go in, the rows that they give come out. */
final class Measures {
  private final Search search;
  private final Slots slots;
  private final History history;
  private final int[] used;
  private final GenericInternalRow values;
  private final JoinedRow joined = new JoinedRow();
  private final UnsafeProjection given;
  private final UnsafeProjection without;
  private final int lookBack;
  private final int lookAhead;
  private final int[] ahead;

  Measures(Search search, Slots slots) {
    this.search = search;
    this.slots = slots;
    int count = search.slots().size();
    used = search.given().stream().flatMapToInt(each -> asked(each, search)).distinct().toArray();
    boolean[] tracked = new boolean[count];
    Arrays.stream(used).forEach(each -> tracked[each] = true);
    history = slots.history(tracked);
    values = new GenericInternalRow(count);
    List<Attribute> input = Stream.concat(search.slotColumns().stream(), search.columns().stream()).toList();
    given = Expressions.projection(search.given(), input);
    List<Expression> bare = new ArrayList<>(search.given());
    for (int i = search.measured(); i < search.measured() + search.measures(); i++) {
      bare.set(i, new Literal(null, bare.get(i).dataType()));
    }
    without = Expressions.projection(bare, input);
    lookBack = Arrays.stream(used).map(each -> -search.slots().get(each).shift()).max().orElse(0);
    lookAhead = Arrays.stream(used).map(each -> search.slots().get(each).shift()).max().orElse(0);
    ahead = Arrays.stream(used).filter(each -> search.slots().get(each).looksAhead()).toArray();
  }

  private static IntStream asked(Expression expression, Search search) {
    return Arrays.stream(Conditions.used(expression, search.slotColumns())).filter(each -> each >= 0);
  }

  int lookBack() {
    return lookBack;
  }

  boolean looksAhead() {
    return ahead.length > 0;
  }

  /** Say whether the rows that measures look ahead to are there; of all rows of a match, the last looks the furthest. */
  boolean canSee(Work work, Attempt attempt, boolean ended) {
    if (ended || attempt.match == null || attempt.match.row + lookAhead < work.rows.end()) {
      return true;
    }
    Path[] steps = steps(work, attempt);
    Path last = steps[steps.length - 1];
    return Arrays.stream(ahead).noneMatch(each -> slots.row(each, history, last) >= work.rows.end());
  }

  void matched(Work work, Attempt attempt, List<byte[]> out) {
    if (attempt.match != null) {
      shown(work, attempt, out);
    } else if (search.shown() != Search.Shown.ALL_ROWS_OMIT_EMPTY) {
      fill(null, work, attempt, true);
      fill(null, work, attempt, false);
      out.add(packed(given, work.rows.get(attempt.start)));
    }
  }

  void timedOut(Work work, Attempt attempt, List<byte[]> out) {
    shown(work, attempt, out);
  }

  void unmatched(Work work, long row, List<byte[]> out) {
    if (search.shown() == Search.Shown.ALL_ROWS_WITH_UNMATCHED) {
      out.add(packed(without, work.rows.get(row)));
    }
  }

  /** Return the steps of a match with what measures remember of it. */
  private Path[] steps(Work work, Attempt attempt) {
    Path[] steps = Path.steps(attempt.match, attempt.start);
    Registers registers = history.empty();
    Path last = null;
    for (int i = 0; i < steps.length; i++) {
      Path step = steps[i];
      registers = history.after(registers, step.row, work.rows.get(step.row), step.variable);
      last = new Path(last, step.row, step.variable, step.leftOut, registers);
      steps[i] = last;
    }
    return steps;
  }

  private void shown(Work work, Attempt attempt, List<byte[]> out) {
    Path[] steps = steps(work, attempt);
    Path last = steps[steps.length - 1];
    fill(last, work, attempt, true);
    if (search.shown() == Search.Shown.ONE_ROW) {
      fill(last, work, attempt, false);
      out.add(packed(given, work.rows.get(attempt.start)));
      return;
    }
    for (Path step : steps) {
      if (!step.leftOut) {
        fill(step, work, attempt, false);
        out.add(packed(given, work.rows.get(step.row)));
      }
    }
  }

  private void fill(Path path, Work work, Attempt attempt, boolean whole) {
    for (int each : used) {
      if (search.slots().get(each).whole() == whole) {
        values.update(each, slots.value(each, history, path, work, attempt));
      }
    }
  }

  private byte[] packed(UnsafeProjection projection, InternalRow row) {
    return projection.apply(joined.apply(values, row)).copy().getBytes();
  }
}
