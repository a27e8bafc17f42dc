package org.headrace.patterns;

/** A key has more partial matches than are allowed. */
public final class PatternLimit extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PatternLimit(int limit) {
    super("a key has more than " + limit + " partial matches");
  }
}
