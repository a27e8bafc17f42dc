package org.headrace.patterns;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;

/** The conditions of the variables, and what they remember of a partial match. */
final class Conditions {
  private final BasePredicate[] predicates;
  private final int[][] used;
  private final Slots slots;
  private final History history;
  private final GenericInternalRow values;
  private final int lookBack;
  private final int[] lookAhead;
  private final boolean comparable;

  Conditions(Search search, Slots slots) {
    this.slots = slots;
    int variables = search.variables().size();
    predicates = new BasePredicate[variables];
    used = new int[variables][];
    boolean[] tracked = new boolean[search.slots().size()];
    int back = 0;
    lookAhead = new int[variables];
    boolean labelled = false;
    for (int i = 0; i < variables; i++) {
      Expression condition = search.conditions().get(i);
      used[i] = condition == null ? new int[0] : used(condition, search.slotColumns());
      predicates[i] = condition == null ? null : Expressions.predicate(condition, search.slotColumns());
      for (int each : used[i]) {
        Slot slot = search.slots().get(each);
        tracked[each] |= !slot.isCurrent(i);
        back = Math.max(back, -slot.shift());
        lookAhead[i] = Math.max(lookAhead[i], slot.shift());
        boolean own = slot.isCurrent(i) && slot.shift() == 0;
        labelled |= slot.kind() == Slot.Kind.CLASSIFIER && !own;
      }
    }
    history = slots.history(tracked);
    values = new GenericInternalRow(search.slots().size());
    lookBack = back;
    comparable = !labelled && !history.hasBuffers() && !slots.hasWalked(used);
  }

  /** Return which slots an expression asks for. */
  static int[] used(Expression expression, List<Attribute> columns) {
    List<Attribute> references = Scala.list(expression.references().toSeq());
    return references.stream()
        .mapToInt(each -> columns.stream().map(Attribute::exprId).toList().indexOf(each.exprId()))
        .sorted()
        .toArray();
  }

  int lookBack() {
    return lookBack;
  }

  /** Return how many rows must follow a row before it can be tried as a variable. */
  int lookAhead(int variable) {
    return lookAhead[variable];
  }

  boolean looksAhead() {
    return Arrays.stream(lookAhead).anyMatch(each -> each > 0);
  }

  History history() {
    return history;
  }

  /** Say whether conditions ask for more than the row that is tried. */
  boolean remembers() {
    return !history.isEmpty() || !comparable;
  }

  /** Say whether what they ask for is told by numbers of rows alone, so that partial matches can be compared. */
  boolean isComparable() {
    return comparable;
  }

  Registers empty() {
    return history.empty();
  }

  Registers after(Registers before, long number, InternalRow row, int variable) {
    return history.after(before, number, row, variable);
  }

  /** Say whether the last row of a path may be taken as its variable. */
  boolean hold(Work work, Attempt attempt, Path path) {
    BasePredicate predicate = predicates[path.variable];
    if (predicate == null) {
      return true;
    }
    for (int each : used[path.variable]) {
      values.update(each, slots.value(each, history, path, work, attempt));
    }
    return predicate.eval(values);
  }
}
