package org.headrace.patterns;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Keeps the registers of some slots: a row and the variable it was taken as go in, new registers come out. */
final class History {
  private static final long NONE = -1;
  private final Slot[] slots;
  private final int[] cell;
  private final int[] buffer;
  private final int cells;
  private final List<Slot> buffered = new ArrayList<>();
  private final Aggregated[] aggregates;
  private final UTF8String[] names;
  private final JoinedRow joined = new JoinedRow();
  private final GenericInternalRow classifier = new GenericInternalRow(1);

  /** @param tracked which slots are remembered; the others are never asked for */
  History(Slot[] slots, boolean[] tracked, Aggregated[] aggregates, UTF8String[] names) {
    this.slots = slots;
    this.aggregates = aggregates;
    this.names = names;
    cell = new int[slots.length];
    buffer = new int[slots.length];
    int next = 0;
    for (int i = 0; i < slots.length; i++) {
      Slot slot = slots[i];
      cell[i] = tracked[i] && slot.isNavigation() ? next : -1;
      next += cell[i] < 0 ? 0 : slot.last() ? slot.offset() + 1 : 2;
      boolean copied = tracked[i] && slot.kind() == Slot.Kind.AGGREGATE && aggregates[slot.source()].isCopied();
      buffer[i] = copied ? buffered.size() : -1;
      if (copied) {
        buffered.add(slot);
      }
    }
    cells = next;
  }

  boolean isEmpty() {
    return cells == 0 && buffered.isEmpty();
  }

  /** Say whether partial matches that agree in their numbers of rows may still differ. */
  boolean hasBuffers() {
    return !buffered.isEmpty();
  }

  Registers empty() {
    if (isEmpty()) {
      return null;
    }
    long[] none = new long[cells];
    for (int i = 0; i < slots.length; i++) {
      for (int k = 0; cell[i] >= 0 && k <= (slots[i].last() ? slots[i].offset() : 1); k++) {
        none[cell[i] + k] = !slots[i].last() && k == 0 ? 0 : NONE;
      }
    }
    Object[][] buffers = new Object[buffered.size()][];
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = aggregates[buffered.get(i).source()].initial();
    }
    return new Registers(none, buffers);
  }

  Registers after(Registers before, long number, InternalRow row, int variable) {
    if (before == null) {
      return null;
    }
    long[] now = before.cells();
    for (int i = 0; i < slots.length; i++) {
      Slot slot = slots[i];
      if (cell[i] < 0 || !slot.of()[variable]) {
        continue;
      }
      now = now == before.cells() ? now.clone() : now;
      int at = cell[i];
      if (slot.last()) {
        System.arraycopy(now, at, now, at + 1, slot.offset());
        now[at] = number;
      } else if (now[at] <= slot.offset()) { // further rows make no difference, so ways are not told apart by them
        now[at + 1] = now[at] == slot.offset() ? number : NONE;
        now[at]++;
      }
    }
    Object[][] buffers = before.buffers();
    for (int i = 0; i < buffers.length; i++) {
      Slot slot = buffered.get(i);
      if (slot.of()[variable]) {
        buffers = buffers == before.buffers() ? buffers.clone() : buffers;
        buffers[i] = aggregates[slot.source()].after(buffers[i], shown(row, variable));
      }
    }
    return now == before.cells() && buffers == before.buffers() ? before : new Registers(now, buffers);
  }

  /** Return the number of the row that a slot reads, before its shift; negative if there is none. */
  long row(Registers registers, int slot) {
    int at = cell[slot];
    return registers.cells()[slots[slot].last() ? at + slots[slot].offset() : at + 1];
  }

  /** Return an aggregate over the rows of a path; all of them are looked at where no buffer could be kept. */
  Object aggregate(Path path, int slot, long start, Rows rows) {
    Aggregated aggregate = aggregates[slots[slot].source()];
    if (buffer[slot] >= 0) {
      Registers registers = path == null ? empty() : path.registers;
      return aggregate.result(registers.buffers()[buffer[slot]]);
    }
    aggregate.reset();
    for (Path step : Path.steps(path, start)) {
      if (slots[slot].of()[step.variable]) {
        aggregate.update(shown(rows.get(step.row), step.variable));
      }
    }
    return aggregate.result();
  }

  private InternalRow shown(InternalRow row, int variable) {
    classifier.update(0, names[variable]);
    return joined.apply(row, classifier);
  }
}
