package org.headrace.patterns;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;

/**
 * What is searched for, as executors are told it.
 *
 * @param place which pattern it is, and where its key stands
 * @param variables the names of the variables
 * @param columns the columns of a row
 * @param time the column that says when a row happened; negative where none does
 * @param arrival whether rows are taken as they come
 * @param order what rows of the same time are ordered by
 * @param slotColumns the columns that stand for slots in conditions and measures
 * @param filters which rows count for each aggregate; null where all do
 * @param aggregated the columns that aggregates see: those of a row, and the name of its variable
 * @param conditions what must hold for each variable; null where anything does
 * @param given the columns of the output, over slots and columns of a row
 * @param measured from which column of the output on measures stand, and how many
 * @param within how many microseconds may lie between the first and the last row; negative if any
 * @param limit how many partial matches a key may have
 * @param endedAt the watermark, in milliseconds, that says that there are no more rows; one that is never reached if the
 *     stream has no end
 * @param whole whether one batch has all rows, so that none need wait
 * @param judged whether the steps below have told late rows from others
 * @param gathered whether rows come in chunks
 */
record Search(
    SearchPlace place,
    Program program,
    List<String> variables,
    List<Attribute> columns,
    int time,
    boolean arrival,
    List<SortOrder> order,
    List<Slot> slots,
    List<Attribute> slotColumns,
    List<Expression> aggregates,
    List<Expression> filters,
    List<Attribute> aggregated,
    List<Expression> conditions,
    List<Expression> given,
    int measured,
    int measures,
    Shown shown,
    Skip skip,
    boolean[] skipTo,
    long within,
    boolean timeouts,
    int limit,
    long endedAt,
    boolean whole,
    boolean judged,
    boolean gathered)
    implements Serializable {
  /** Which rows a match gives. */
  enum Shown {
    ONE_ROW,
    ALL_ROWS,
    ALL_ROWS_OMIT_EMPTY,
    ALL_ROWS_WITH_UNMATCHED
  }

  /** Where the search goes on after a match. */
  enum Skip {
    PAST_LAST_ROW,
    TO_NEXT_ROW,
    TO_FIRST,
    TO_LAST
  }

  boolean usesMatchNumber() {
    return slots.stream().anyMatch(each -> each.kind() == Slot.Kind.MATCH_NUMBER);
  }

  /** Say whether searches from several rows can go on side by side, because none depends on another. */
  boolean isIndependent() {
    return skip == Skip.TO_NEXT_ROW && !usesMatchNumber() && shown != Shown.ALL_ROWS_WITH_UNMATCHED;
  }
}
