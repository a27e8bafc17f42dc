package org.headrace;

import java.util.concurrent.atomic.AtomicInteger;

/** Places where a test may end the process at once, as a power cut would. */
public final class Faults {
  private static final String[] ASKED = System.getenv().getOrDefault("HEADRACE_FAULT", "").split(":");
  private static final AtomicInteger REACHED = new AtomicInteger();

  private Faults() {}

  /** Ends the process if HEADRACE_FAULT names this place, as in {@code kafka-before-commit:3} at the third time. */
  public static void reach(String place) {
    if (!ASKED[0].equals(place)) {
      return;
    }
    int wanted = ASKED.length > 1 ? Integer.parseInt(ASKED[1]) : 1;
    if (REACHED.incrementAndGet() == wanted) {
      Runtime.getRuntime().halt(137);
    }
  }
}
