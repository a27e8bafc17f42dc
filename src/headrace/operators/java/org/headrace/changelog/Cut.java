package org.headrace.changelog;

import java.io.Serializable;

/**
 * Which rows of an order are wanted: those up to a rank.
 *
 * @param by how the rank is counted; NONE for all rows
 * @param first how many rows are left out at the beginning
 * @param limit the last rank that is wanted
 */
record Cut(By by, int first, int limit) implements Serializable {
  static final Cut ALL = new Cut(By.NONE, 0, 0);

  /** How a rank is counted. */
  enum By {
    NONE,
    ROW_NUMBER,
    RANK,
    DENSE_RANK
  }

  /** Return the position behind the last row that is wanted. */
  int last(Peers peers) {
    int size = peers.size();
    switch (by) {
      case NONE:
        return size;
      case ROW_NUMBER:
        return (int) Math.min(size, (long) first + limit);
      case RANK:
        return size <= limit ? size : limit == 0 ? 0 : peers.end[limit - 1];
      default:
        int position = 0;
        for (int rank = 0; rank < limit && position < size; rank++) {
          position = peers.end[position];
        }
        return position;
    }
  }
}
