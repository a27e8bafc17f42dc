package org.headrace.patterns;

import java.util.ArrayList;
import java.util.List;

/** The search for a match that begins at one row. */
final class Attempt {
  /** A way through the pattern so far: the instruction that waits for the next row, and the rows that led there. */
  record Partial(int at, Path path) {}

  final long start;
  /** The number of the next row that the partial matches are shown. */
  long read;
  /** The partial matches that can still become a match, the preferred first; each is preferred to what was found. */
  List<Partial> partials = new ArrayList<>();

  boolean found;
  /** The last step of the match that was found; null if it has no rows. */
  Path match;

  /** Which match of its key it is; 0 until that is known. */
  long number;

  /** The variables that were awaited when the time ran out; null if it did not. */
  boolean[] awaited;

  Attempt(long start) {
    this.start = start;
    this.read = start;
  }

  /** Say whether no further row can change the outcome. */
  boolean isSettled() {
    return partials.isEmpty();
  }

  void find(Path path) {
    found = true;
    match = path;
  }
}
