package org.headrace.patterns;

import java.io.Serializable;
import java.util.List;

/**
 * What an expression asks of a match: a value of one of its rows, an aggregate over some, or a fact about it.
 *
 * @param last whether the row is counted from the end of the variable's rows, and not from their start
 * @param offset how many of the variable's rows are passed over
 * @param shift how many rows of the input lie between that row and the one that is read
 * @param source the column of the row, or the number of the aggregate
 * @param whole whether it looks at the whole match also where the match is shown row by row
 * @param of the variables whose rows count
 */
record Slot(Kind kind, boolean last, int offset, int shift, int source, boolean whole, boolean[] of)
    implements Serializable {
  /** What a slot holds. */
  enum Kind {
    VALUE,
    CLASSIFIER,
    AGGREGATE,
    MATCH_NUMBER,
    TIMED_OUT,
    AWAITED
  }

  static Slot read(List<Integer> given, int variables) {
    boolean[] of = new boolean[variables];
    for (int variable : given.subList(6, given.size())) {
      of[variable] = true;
    }
    return new Slot(
        Kind.values()[given.get(0)], given.get(1) == 1, given.get(2), given.get(3), given.get(4), given.get(5) == 1, of);
  }

  /** Say whether it reads the row that is being tried as a variable, or one at a distance from it. */
  boolean isCurrent(int variable) {
    return (kind == Kind.VALUE || kind == Kind.CLASSIFIER) && last && offset == 0 && of[variable];
  }

  /** Say whether it may read a row that has not come; which variable such a row is taken as is not asked. */
  boolean looksAhead() {
    return kind == Kind.VALUE && shift > 0;
  }

  boolean isNavigation() {
    return kind == Kind.VALUE || kind == Kind.CLASSIFIER;
  }
}
