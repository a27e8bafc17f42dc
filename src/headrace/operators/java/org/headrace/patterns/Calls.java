package org.headrace.patterns;

/**
 * Says when a key has to be called though no row of it comes: when the search of the rows that wait, or the passing of
 * time, can give something. Where neither can, rows and partial matches have only to be forgotten some day, and a timer
 * that is set for that stays where it is while the key goes on.
 */
final class Calls {
  /** How long, in milliseconds, what is of no use may be kept at least. */
  private static final long PATIENCE = 60_000;
  /** How many times as long as rows wait for the watermark. */
  private static final int TIMES = 8;
  /** A timer is for a time after 1970: Spark knows no other watermark. */
  private static final long FIRST = 1;

  private final boolean certain;
  private final boolean timeouts;
  private final long within;
  private final long endedAt;

  Calls(Search search, Prospects prospects) {
    certain = prospects.certain;
    timeouts = search.timeouts();
    within = Math.floorDiv(search.within(), 1000L);
    endedAt = search.endedAt();
  }

  /** Return for when a key should have a timer; the watermark is that of now, and never is a timer for that or before. */
  long next(Waiting known, long watermark) {
    if (known.isEmpty()) {
      return Matcher.NEVER;
    }
    long needed = needed(known);
    long slack = slack(known, watermark);
    long tidied = tidied(known, slack);
    boolean kept = watermark < known.timer && known.timer <= needed;
    if (kept && (known.timer < Matcher.NEVER || tidied == Matcher.NEVER) && known.timer - slack <= tidied) {
      return known.timer;
    }
    return Math.max(Math.max(FIRST, watermark + 1), Math.min(needed, tidied));
  }

  /** Return when something can be given. */
  private long needed(Waiting known) {
    long soonest = known.due;
    if (known.from == Matcher.NEVER) {
      return soonest;
    }
    if (certain || known.urgent) {
      return Math.min(soonest, known.from + 1);
    }
    if (timeouts && known.begins != Matcher.NEVER) { // it is searched once the watermark has passed it
      soonest = Math.min(soonest, Math.min(endedAt, known.begins + Math.max(1, within)));
    }
    boolean matched = known.ends != Matcher.NEVER && (known.open || known.begins <= known.endsTo);
    return matched ? Math.min(soonest, known.ends + 1) : soonest;
  }

  /** Return how long what is of no use may be kept; longer where rows wait longer. */
  private static long slack(Waiting known, long watermark) {
    boolean waits = known.from != Matcher.NEVER && watermark >= FIRST; // at first there is no watermark
    return PATIENCE + (waits ? TIMES * Math.max(0, known.to - watermark) : 0);
  }

  /** Return when everything can be forgotten, and some time more. */
  private static long tidied(Waiting known, long slack) {
    if (known.from == Matcher.NEVER && known.over == Matcher.NEVER) {
      return Matcher.NEVER;
    }
    return (known.over == Matcher.NEVER ? known.to : Math.max(known.over, known.to)) + slack;
  }
}
