package org.headrace.patterns;

/** The search for a pattern cannot go on in the rows of a key. */
public abstract class PatternFailure extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PatternFailure(String message) {
    super(message);
  }

  /** Return the same failure with the pattern and the key that it is of. */
  abstract PatternFailure of(String place);

  static String joined(String message, String place) {
    return place.isEmpty() ? message : message + " (" + place + ")";
  }
}
