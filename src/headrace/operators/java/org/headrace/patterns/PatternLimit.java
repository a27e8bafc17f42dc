package org.headrace.patterns;

/** A key has more partial matches than are allowed. */
public final class PatternLimit extends PatternFailure {
  private static final long serialVersionUID = 1L;

  PatternLimit(int limit) {
    this("a key has more than " + limit + " partial matches");
  }

  private PatternLimit(String message) {
    super(message);
  }

  @Override
  PatternFailure of(String place) {
    return new PatternLimit(joined(getMessage(), place));
  }
}
