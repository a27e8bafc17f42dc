package org.headrace.patterns;

/** The rows of a partial match, last one first; partial matches that began alike share their beginning. */
final class Path {
  final Path before;
  final int variable;
  final boolean leftOut;
  final long row;
  final Registers registers;

  Path(Path before, long row, int variable, boolean leftOut, Registers registers) {
    this.before = before;
    this.row = row;
    this.variable = variable;
    this.leftOut = leftOut;
    this.registers = registers;
  }

  /** Return the steps of a path from its first row on. */
  static Path[] steps(Path last, long start) {
    Path[] steps = new Path[last == null ? 0 : (int) (last.row - start + 1)];
    int i = steps.length;
    for (Path each = last; each != null; each = each.before) {
      steps[--i] = each;
    }
    return steps;
  }
}
