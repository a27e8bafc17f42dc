package org.headrace.patterns;

/** A match does not have the row to which AFTER MATCH SKIP wants to go. */
public final class BadSkip extends RuntimeException {
  private static final long serialVersionUID = 1L;

  BadSkip(String message) {
    super(message);
  }
}
