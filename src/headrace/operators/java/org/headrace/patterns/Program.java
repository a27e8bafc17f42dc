package org.headrace.patterns;

import java.io.Serializable;
import java.util.List;

/** A pattern as instructions, in the order in which ways through it are preferred. */
final class Program implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Take a row as a variable ({@code first}); {@code second} is 1 where it is left out of the output. */
  static final int ROW = 0;
  /** Go on at {@code first}, or, less preferred, at {@code second}. */
  static final int SPLIT = 1;
  /** Go on at {@code first}. */
  static final int JUMP = 2;
  /** Go on only before the first row. */
  static final int START = 3;
  /** Go on only behind the last row. */
  static final int END = 4;
  /** The pattern is matched. */
  static final int ACCEPT = 5;

  final int[] kind;
  final int[] first;
  final int[] second;

  Program(List<? extends List<Integer>> instructions) {
    int size = instructions.size();
    kind = new int[size];
    first = new int[size];
    second = new int[size];
    for (int i = 0; i < size; i++) {
      List<Integer> each = instructions.get(i);
      kind[i] = each.get(0);
      first[i] = each.get(1);
      second[i] = each.get(2);
    }
  }

  int size() {
    return kind.length;
  }

  boolean has(int wanted) {
    for (int each : kind) {
      if (each == wanted) {
        return true;
      }
    }
    return false;
  }
}
