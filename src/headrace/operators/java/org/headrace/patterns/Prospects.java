package org.headrace.patterns;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.headrace.rows.Expressions;
import org.headrace.rows.Scala;

/**
 * Tells of a row that waits whether it can begin a match, and whether it can end one, by what conditions ask of the row
 * alone. A key needs to be called for its rows only if their search can give something; most rows of most streams can
 * neither begin nor end a match.
 */
final class Prospects {
  private final List<BasePredicate> first = new ArrayList<>();
  private final List<BasePredicate> last = new ArrayList<>();
  /** Whether the search of any row may give something. */
  final boolean certain;

  Prospects(Search search, boolean looksAhead) {
    Program program = search.program();
    boolean always =
        looksAhead || program.has(Program.END) || search.shown() == Search.Shown.ALL_ROWS_WITH_UNMATCHED;
    if (!always) {
      boolean[] matched = matched(program);
      Ways ways = new Ways(program);
      Set<Integer> begin = new TreeSet<>();
      for (boolean start : new boolean[] {true, false}) {
        for (int at : ways.from(0, start, false)) {
          if (program.kind[at] == Program.ROW) {
            begin.add(program.first[at]);
          }
          always |= program.kind[at] == Program.ACCEPT;
        }
      }
      Set<Integer> end = new TreeSet<>();
      for (int at = 0; at < program.size(); at++) {
        if (program.kind[at] == Program.ROW && matched[at + 1]) {
          end.add(program.first[at]);
        }
      }
      begin.forEach(variable -> first.add(test(search, variable)));
      end.forEach(variable -> last.add(test(search, variable)));
    }
    certain = always || (first.contains(null) && last.contains(null));
  }

  /** Return from which instructions on, behind a row, the pattern is matched without a further one. */
  private static boolean[] matched(Program program) {
    boolean[] matched = new boolean[program.size()];
    for (boolean more = true; more; ) {
      more = false;
      for (int at = program.size() - 1; at >= 0; at--) {
        boolean now =
            switch (program.kind[at]) {
              case Program.ACCEPT -> true;
              case Program.JUMP -> matched[program.first[at]];
              case Program.SPLIT -> matched[program.first[at]] || matched[program.second[at]];
              default -> false;
            };
        more |= now != matched[at];
        matched[at] = now;
      }
    }
    return matched;
  }

  boolean mayBegin(UnsafeRow row) {
    return may(first, row);
  }

  boolean mayEnd(UnsafeRow row) {
    return may(last, row);
  }

  private static boolean may(List<BasePredicate> tests, UnsafeRow row) {
    for (BasePredicate each : tests) {
      if (each == null || holds(each, row)) {
        return true;
      }
    }
    return false;
  }

  /** Say whether a test holds; one that fails for a row that would never have been tried is no failure. */
  private static boolean holds(BasePredicate test, UnsafeRow row) {
    try {
      return test.eval(row);
    } catch (Exception error) { // Spark throws some that are not declared
      return true;
    }
  }

  /** Return what the condition of a variable asks of the row alone, or null if that is nothing. */
  private static BasePredicate test(Search search, int variable) {
    Expression condition = search.conditions().get(variable);
    Map<ExprId, Expression> own = new HashMap<>();
    for (int i = 0; i < search.slots().size(); i++) {
      Slot slot = search.slots().get(i);
      if (slot.kind() == Slot.Kind.VALUE && slot.isCurrent(variable) && slot.shift() == 0) {
        own.put(search.slotColumns().get(i).exprId(), (Expression) search.columns().get(slot.source()));
      }
    }
    Expression asked = condition == null ? null : asked(condition, own);
    return asked == null ? null : Expressions.predicate(asked, search.columns());
  }

  /** Return the part of a condition that must hold of the row alone, over the columns of the row; null if there is none. */
  private static Expression asked(Expression condition, Map<ExprId, Expression> own) {
    if (condition instanceof And both) {
      Expression left = asked(both.left(), own);
      Expression right = asked(both.right(), own);
      return left == null ? right : right == null ? left : new And(left, right);
    }
    List<Attribute> read = Scala.list(condition.references().toSeq());
    boolean alone = condition.deterministic() && read.stream().allMatch(each -> own.containsKey(each.exprId()));
    return alone ? Expressions.replaced(condition, own) : null;
  }
}
