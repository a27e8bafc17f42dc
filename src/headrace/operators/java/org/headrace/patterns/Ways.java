package org.headrace.patterns;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Where the ways from an instruction lead without a row: the instructions that need one, or the end of the input, in the
 * order of preference. Behind the end of the pattern nothing follows, because nothing less preferred matters.
 */
final class Ways {
  private final Program program;
  private final boolean[] loops;
  private final Map<Integer, int[]> known = new HashMap<>();

  /**
   * A way that is still to be followed.
   *
   * @param open the loops that it has entered since the last row
   * @param back whether it has just jumped back
   */
  private record Way(int at, Set<Integer> open, boolean back) {}

  Ways(Program program) {
    this.program = program;
    loops = new boolean[program.size()];
    for (int i = 0; i < program.size(); i++) {
      if (program.kind[i] == Program.JUMP && program.first[i] < i) {
        loops[program.first[i]] = true;
      }
    }
  }

  /**
   * Return the instructions that the ways lead to.
   *
   * @param first whether no row of the partition stands before
   * @param ended whether none stands behind
   */
  int[] from(int at, boolean first, boolean ended) {
    return known.computeIfAbsent(at << 2 | (first ? 2 : 0) | (ended ? 1 : 0), key -> followed(at, first, ended));
  }

  private int[] followed(int from, boolean first, boolean ended) {
    Set<Integer> reached = new LinkedHashSet<>();
    Set<Way> been = new HashSet<>();
    Deque<Way> todo = new ArrayDeque<>();
    todo.push(new Way(from, Set.of(), false));
    while (!todo.isEmpty()) {
      Way way = todo.pop();
      int at = way.at();
      if (!been.add(way)) {
        continue;
      }
      switch (program.kind[at]) {
        case Program.JUMP -> todo.push(new Way(program.first[at], way.open(), program.first[at] < at));
        case Program.SPLIT -> split(way, todo);
        case Program.START -> {
          if (first) {
            todo.push(new Way(at + 1, way.open(), false));
          }
        }
        case Program.END -> {
          if (ended) {
            todo.push(new Way(at + 1, way.open(), false));
          } else {
            reached.add(at);
          }
        }
        case Program.ROW -> reached.add(at);
        default -> {
          reached.add(at);
          todo.clear();
        }
      }
    }
    return reached.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Follow both branches, the preferred one first; a turn of a loop that took no row leads nowhere. */
  private void split(Way way, Deque<Way> todo) {
    int at = way.at();
    Set<Integer> inside = way.open();
    Set<Integer> outside = way.open();
    if (loops[at]) {
      if (way.back() && way.open().contains(at)) {
        return;
      }
      inside = new HashSet<>(way.open());
      inside.add(at);
      outside = new HashSet<>(way.open());
      outside.remove(at);
    }
    for (int next : new int[] {program.second[at], program.first[at]}) {
      todo.push(new Way(next, next == at + 1 ? inside : outside, false));
    }
  }
}
