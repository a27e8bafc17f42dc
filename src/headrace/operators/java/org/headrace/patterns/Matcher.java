package org.headrace.patterns;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Finds the matches in the rows of a key. All ways through the pattern are followed at once, the preferred first; when
 * one reaches the end, those behind it are given up, and those before it may still find something better. So the answer
 * is known with the first row that leaves no better way, however rows were cut into batches.
 */
final class Matcher {
  /** The watermark that no stream reaches. */
  static final long NEVER = Long.MAX_VALUE;

  private final Search search;
  private final Program program;
  private final Conditions conditions;
  private final Measures measures;
  private final boolean independent;
  private final Ways ways;
  private final int[] seen;
  private int round;
  private final Set<Mark> marks = new HashSet<>();

  Matcher(Search search, Conditions conditions, Measures measures) {
    this.search = search;
    this.program = search.program();
    this.conditions = conditions;
    this.measures = measures;
    this.independent = search.isIndependent();
    this.ways = new Ways(program);
    this.seen = new int[program.size()];
  }

  /** A place in the pattern, and the numbers of the rows that a way remembers there. */
  private record Mark(int at, List<Long> remembered) {}

  /**
   * Search as far as the rows go.
   *
   * @param watermark in milliseconds: no row is older that is still to come, unless rows are taken as they come: their
   *     time is then told by the rows of the key alone
   * @param out what takes the rows that are found
   */
  void run(Work work, long watermark, List<byte[]> out) {
    boolean ended = watermark >= search.endedAt();
    work.attempts.removeIf(each -> isOver(work, each, watermark, ended, out));
    while ((independent || work.attempts.isEmpty()) && work.from < work.rows.end()) {
      Attempt attempt = begin(work);
      work.from++;
      if (!isOver(work, attempt, watermark, ended, out)) {
        work.attempts.add(attempt);
      }
    }
    work.opened.forget(
        work.attempts.stream().filter(each -> !each.isSettled()).mapToLong(each -> each.read).min().orElse(work.from));
    long oldest = work.attempts.isEmpty() ? work.from : work.attempts.get(0).start;
    work.rows.forget(oldest - Math.max(conditions.lookBack(), measures.lookBack()));
  }

  /** Take an attempt as far as the rows go; true if it has come to an end, and what it found is given. */
  private boolean isOver(Work work, Attempt attempt, long watermark, boolean ended, List<byte[]> out) {
    advance(work, attempt, watermark, ended);
    if (!attempt.isSettled() || !measures.canSee(work, attempt, ended)) {
      return false;
    }
    finish(work, attempt, out);
    return true;
  }

  private Attempt begin(Work work) {
    Attempt attempt = new Attempt(work.from);
    round++;
    marks.clear();
    follow(attempt, attempt.partials, 0, null, false);
    return attempt;
  }

  private void advance(Work work, Attempt attempt, long watermark, boolean ended) {
    long deadline = deadline(work, attempt);
    while (!attempt.isSettled() && attempt.read < work.rows.end()) {
      UnsafeRow row = work.rows.get(attempt.read);
      if (attempt.read > attempt.start && isTooLate(row, deadline)) {
        expire(attempt, true);
        return;
      }
      if (!ended && attempt.read + lookAhead(attempt) >= work.rows.end()) {
        return;
      }
      take(work, attempt, row);
    }
    if (attempt.isSettled()) {
      return;
    }
    if (ended) {
      end(attempt);
    } else if (!search.arrival() && deadline != NEVER && watermark * 1000 >= deadline) {
      expire(attempt, false);
    }
  }

  /** Return how many rows must follow the next one before the partial matches of an attempt can be shown it. */
  private int lookAhead(Attempt attempt) {
    int most = 0;
    for (Attempt.Partial each : attempt.partials) {
      if (program.kind[each.at()] == Program.ROW) {
        most = Math.max(most, conditions.lookAhead(program.first[each.at()]));
      }
    }
    return most;
  }

  /** Return the time, in microseconds, at which an attempt has run out of time; of rows without a time, at once. */
  private long deadline(Work work, Attempt attempt) {
    if (search.within() < 0) {
      return NEVER;
    }
    UnsafeRow first = work.rows.get(attempt.start);
    return first.isNullAt(search.time()) ? Long.MIN_VALUE : first.getLong(search.time()) + search.within();
  }

  private boolean isTooLate(UnsafeRow row, long deadline) {
    return deadline != NEVER && (row.isNullAt(search.time()) || row.getLong(search.time()) >= deadline);
  }

  private void take(Work work, Attempt attempt, UnsafeRow row) {
    List<Attempt.Partial> before = attempt.partials;
    List<Attempt.Partial> after = new ArrayList<>(before.size() + 1);
    long number = attempt.read++;
    round++;
    marks.clear();
    for (Attempt.Partial each : before) {
      int at = each.at();
      if (program.kind[at] != Program.ROW) {
        continue;
      }
      int variable = program.first[at];
      Registers known = each.path() == null ? conditions.empty() : each.path().registers;
      Registers now = conditions.after(known, number, row, variable);
      Path path = new Path(each.path(), number, variable, program.second[at] == 1, now);
      if (conditions.hold(work, attempt, path) && follow(attempt, after, at + 1, path, false)) {
        break;
      }
    }
    attempt.partials = after;
    int opened = independent ? work.opened.add(number, after.size()) : after.size();
    if (opened > search.limit()) {
      throw new PatternLimit(search.limit());
    }
  }

  /** Go on from an instruction until rows are needed; true if the pattern is matched, so that no worse way matters. */
  private boolean follow(Attempt attempt, List<Attempt.Partial> into, int from, Path path, boolean ended) {
    for (int at : ways.from(from, path == null && attempt.start == 0, ended)) {
      if (program.kind[at] == Program.ACCEPT) {
        attempt.find(path);
        return true;
      }
      if (isNew(at, path)) {
        into.add(new Attempt.Partial(at, path));
      }
    }
    return false;
  }

  /** Say whether no preferred way has come to the same place with the same memory: it has the same future. */
  private boolean isNew(int at, Path path) {
    if (!conditions.remembers()) {
      boolean fresh = seen[at] != round;
      seen[at] = round;
      return fresh;
    }
    if (path == null || !conditions.isComparable()) {
      return true;
    }
    return marks.add(new Mark(at, Arrays.stream(path.registers.cells()).boxed().toList()));
  }

  /**
   * Let the time of an attempt run out: what waits for a row is over, what waits for the end of the input is not.
   *
   * @param late whether there is a row behind, so that this is not the end
   */
  private void expire(Attempt attempt, boolean late) {
    List<Attempt.Partial> rest = new ArrayList<>();
    for (Attempt.Partial each : attempt.partials) {
      if (program.kind[each.at()] != Program.ROW) {
        rest.add(each);
        continue;
      }
      if (!attempt.found && search.timeouts()) {
        if (attempt.awaited == null) {
          attempt.awaited = new boolean[search.variables().size()];
          attempt.match = each.path();
        }
        attempt.awaited[program.first[each.at()]] = true;
      }
    }
    attempt.partials = late ? new ArrayList<>() : rest;
  }

  /** Let the input end: what waits for its end goes on, the rest has come too late. */
  private void end(Attempt attempt) {
    List<Attempt.Partial> none = new ArrayList<>();
    round++;
    List<Attempt.Partial> before = attempt.partials;
    if (search.within() >= 0) {
      expire(attempt, false);
    }
    for (Attempt.Partial each : before) {
      if (program.kind[each.at()] == Program.END && follow(attempt, none, each.at() + 1, each.path(), true)) {
        attempt.awaited = null;
        break;
      }
    }
    attempt.partials = new ArrayList<>();
  }

  private void finish(Work work, Attempt attempt, List<byte[]> out) {
    if (!attempt.found) {
      if (attempt.awaited != null) {
        measures.timedOut(work, attempt, out);
        work.matchedTo = Math.max(work.matchedTo, attempt.match.row + 1);
      } else if (attempt.start >= work.matchedTo) {
        measures.unmatched(work, attempt.start, out);
      }
      goOn(work, attempt.start + 1);
      return;
    }
    attempt.number = ++work.matches;
    measures.matched(work, attempt, out);
    if (attempt.match == null) {
      work.matchedTo = Math.max(work.matchedTo, attempt.start + 1);
      goOn(work, attempt.start + 1);
      return;
    }
    work.matchedTo = Math.max(work.matchedTo, attempt.match.row + 1);
    goOn(work, next(attempt));
  }

  private void goOn(Work work, long from) {
    if (!independent) {
      work.from = from;
    }
  }

  private long next(Attempt attempt) {
    return switch (search.skip()) {
      case PAST_LAST_ROW -> attempt.match.row + 1;
      case TO_NEXT_ROW -> attempt.start + 1;
      default -> {
        long to = -1;
        for (Path each = attempt.match; each != null; each = each.before) {
          if (search.skipTo()[each.variable] && (to < 0 || search.skip() == Search.Skip.TO_FIRST)) {
            to = each.row;
          }
        }
        if (to < 0) {
          throw new BadSkip("AFTER MATCH SKIP names a variable that the match has no row of");
        }
        if (to == attempt.start) {
          throw new BadSkip("AFTER MATCH SKIP goes to the first row of the match, where the search would never end");
        }
        yield to;
      }
    };
  }

  /** Return the watermark, in milliseconds, at which a key can give something though no row came. */
  long due(Work work) {
    long soonest = NEVER;
    for (Attempt attempt : work.attempts) {
      if (search.timeouts() || canGive(work, attempt)) {
        soonest = Math.min(soonest, over(work, attempt));
      }
    }
    boolean ends = isUrgent(work) || (search.timeouts() && !work.attempts.isEmpty());
    return ends ? Math.min(soonest, search.endedAt()) : soonest;
  }

  /** Return the watermark, in milliseconds, at which nothing of a key is under way any more unless rows come. */
  long over(Work work) {
    long latest = Long.MIN_VALUE;
    for (Attempt attempt : work.attempts) {
      latest = Math.max(latest, over(work, attempt));
    }
    return work.attempts.isEmpty() ? NEVER : latest;
  }

  private long over(Work work, Attempt attempt) {
    if (search.arrival()
        || attempt.read < work.rows.end()
        || attempt.partials.stream().noneMatch(each -> program.kind[each.at()] == Program.ROW)) {
      return NEVER;
    }
    long deadline = deadline(work, attempt);
    return deadline == NEVER ? NEVER : -Math.floorDiv(-deadline, 1000L);
  }

  /** Say whether the next row, whatever it is, or the end of the input can give something of what is under way. */
  boolean isUrgent(Work work) {
    return work.attempts.stream().anyMatch(each -> canGive(work, each));
  }

  private boolean canGive(Work work, Attempt attempt) {
    return attempt.found || waits(work, attempt);
  }

  /** Say whether the end of the input can give something of an attempt that has found nothing yet. */
  private boolean waits(Work work, Attempt attempt) {
    return attempt.isSettled()
        || (!independent && work.rows.end() > attempt.start + 1) // what fails lets others begin
        || attempt.read < work.rows.end() // it looks ahead
        || (search.arrival() && search.timeouts())
        || search.shown() == Search.Shown.ALL_ROWS_WITH_UNMATCHED
        || program.has(Program.END);
  }

  /** Say whether nothing of a key needs to be remembered. */
  boolean isDone(Work work) {
    return work.attempts.isEmpty()
        && work.rows.all().isEmpty()
        && !program.has(Program.START)
        && !search.usesMatchNumber();
  }
}
