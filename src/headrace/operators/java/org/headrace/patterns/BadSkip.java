package org.headrace.patterns;

/** A match does not have the row to which AFTER MATCH SKIP wants to go. */
public final class BadSkip extends PatternFailure {
  private static final long serialVersionUID = 1L;

  BadSkip(String message) {
    super(message);
  }

  @Override
  PatternFailure of(String place) {
    return new BadSkip(joined(getMessage(), place));
  }
}
