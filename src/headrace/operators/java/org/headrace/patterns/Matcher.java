package org.headrace.patterns;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
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
  private final Search search;
  private final Program program;
  private final Conditions conditions;
  private final Measures measures;
  private final boolean independent;
  private final int[] seen;
  private int round;
  private final Set<Mark> marks = new HashSet<>();

  Matcher(Search search, Conditions conditions, Measures measures) {
    this.search = search;
    this.program = search.program();
    this.conditions = conditions;
    this.measures = measures;
    this.independent = search.isIndependent();
    this.seen = new int[program.size()];
  }

  /** Two ways at the same place that remember the same have the same future. */
  private record Mark(int at, List<Long> remembered) {}

  /**
   * Search as far as the rows go.
   *
   * @param watermark in milliseconds: no row is older that is still to come
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
    if (work.attempts.stream().mapToInt(each -> each.partials.size()).sum() > search.limit()) {
      throw new PatternLimit(search.limit());
    }
    long oldest = work.attempts.isEmpty() ? work.from : work.attempts.get(0).start;
    work.rows.forget(oldest - Math.max(conditions.lookBack(), measures.lookBack()));
  }

  /** Take an attempt as far as the rows go; true if it has come to an end, and what it found is given. */
  private boolean isOver(Work work, Attempt attempt, long watermark, boolean ended, List<byte[]> out) {
    advance(work, attempt, watermark, ended);
    if (!attempt.isSettled() || !measures.canSee(work.rows, attempt, ended)) {
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
    long ready = ended ? work.rows.end() : work.rows.end() - conditions.lookAhead();
    long deadline = deadline(work, attempt);
    while (!attempt.isSettled() && attempt.read < ready) {
      UnsafeRow row = work.rows.get(attempt.read);
      if (deadline != Long.MAX_VALUE && row.getLong(search.time()) >= deadline) {
        expire(attempt, true);
        return;
      }
      take(work, attempt, row);
    }
    if (attempt.isSettled() || attempt.read < work.rows.end()) {
      return;
    }
    if (ended) {
      end(attempt);
    } else if (deadline != Long.MAX_VALUE && watermark * 1000 >= deadline) {
      expire(attempt, false);
    }
  }

  /** Return the time, in microseconds, at which an attempt has run out of time. */
  private long deadline(Work work, Attempt attempt) {
    return search.within() < 0 ? Long.MAX_VALUE : work.rows.get(attempt.start).getLong(search.time()) + search.within();
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
      if (conditions.hold(work, attempt, path) && follow(attempt, after, at + 1, path, true)) {
        break;
      }
    }
    attempt.partials = after;
    if (after.size() > search.limit()) {
      throw new PatternLimit(search.limit());
    }
  }

  /** A way that is still to be followed: the loops that it is in since the last row, and whether it jumped back. */
  private record Way(int at, Set<Integer> open, boolean back) {}

  /** Go on from an instruction until rows are needed; true if the pattern is matched, so that no worse way matters. */
  private boolean follow(Attempt attempt, List<Attempt.Partial> into, int from, Path path, boolean merging) {
    return follow(attempt, into, from, path, merging, false);
  }

  private boolean follow(
      Attempt attempt, List<Attempt.Partial> into, int from, Path path, boolean merging, boolean ending) {
    if (conditions.remembers()) {
      round++;
    }
    Deque<Way> todo = new ArrayDeque<>();
    Set<Way> been = new HashSet<>();
    todo.push(new Way(from, Set.of(), false));
    long position = path == null ? attempt.start : path.row + 1;
    while (!todo.isEmpty()) {
      Way way = todo.pop();
      if (!been.add(way)) {
        continue;
      }
      int at = way.at();
      switch (program.kind[at]) {
        case Program.ROW, Program.END -> {
          if (ending && program.kind[at] == Program.END) {
            todo.push(new Way(at + 1, way.open(), false));
          } else if (seen[at] != round) {
            seen[at] = round;
            if (!merging || isNew(at, path)) {
              into.add(new Attempt.Partial(at, path));
            }
          }
        }
        case Program.SPLIT -> {
          boolean loop = false;
          for (int i = at; i < program.size(); i++) {
            loop |= program.kind[i] == Program.JUMP && program.first[i] == at;
          }
          Set<Integer> body = new HashSet<>(way.open());
          Set<Integer> exit = new HashSet<>(way.open());
          if (loop) {
            if (way.back() && way.open().contains(at)) {
              continue;
            }
            body.add(at);
            exit.remove(at);
          }
          int second = program.second[at];
          int first = program.first[at];
          todo.push(new Way(second, second == at + 1 ? body : exit, false));
          todo.push(new Way(first, first == at + 1 ? body : exit, false));
        }
        case Program.JUMP -> todo.push(new Way(program.first[at], way.open(), program.first[at] < at));
        case Program.START -> {
          if (position == 0) {
            todo.push(new Way(at + 1, way.open(), false));
          }
        }
        default -> {
          attempt.find(path);
          return true;
        }
      }
    }
    return false;
  }

  private boolean isNew(int at, Path path) {
    if (!conditions.remembers() || !conditions.isComparable()) {
      return true; // ways that remember nothing are told apart by where they are, the others cannot be compared
    }
    return marks.add(new Mark(at, Arrays.stream(path.registers.cells()).boxed().toList()));
  }

  /** Let the time of an attempt run out. */
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
      if (program.kind[each.at()] == Program.END
          && follow(attempt, none, each.at() + 1, each.path(), false, true)) {
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

  /** Return the watermark, in milliseconds, at which a key must be looked at again though no row came; negative: none. */
  long due(Work work) {
    long soonest = Long.MAX_VALUE;
    for (Attempt attempt : work.attempts) {
      if (attempt.partials.stream().anyMatch(each -> program.kind[each.at()] == Program.ROW)
          && attempt.read == work.rows.end()) {
        long deadline = deadline(work, attempt);
        soonest = Math.min(soonest, deadline == Long.MAX_VALUE ? deadline : -Math.floorDiv(-deadline, 1000L));
      }
    }
    if (work.attempts.stream().anyMatch(each -> each.found || waits(work, each))) {
      soonest = Math.min(soonest, search.endedAt());
    }
    return soonest == Long.MAX_VALUE ? -1 : soonest;
  }

  /** Say whether the end of the input can give something of an attempt that has found nothing yet. */
  private boolean waits(Work work, Attempt attempt) {
    return attempt.isSettled()
        || (!independent && work.rows.end() > attempt.start + 1) // what fails lets others begin
        || conditions.lookAhead() > 0
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
