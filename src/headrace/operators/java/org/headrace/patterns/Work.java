package org.headrace.patterns;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.headrace.rows.Unpack;

/** What is under way for one key: the rows that can still be asked for, and the searches that are open. */
final class Work {
  private static final int VERSION = 2;
  /** The version that does not tell how many partial matches were opened. */
  private static final int UNCOUNTED = 1;

  final Rows rows;
  final List<Attempt> attempts = new ArrayList<>();
  final Opened opened = new Opened();
  /** The number of the row at which the next search begins. */
  long from;
  /** How many matches there were. */
  long matches;
  /** The number behind the last row that was shown as one of a match, or of a partial match that ran out of time. */
  long matchedTo;

  Work() {
    this(new Rows(0));
  }

  private Work(Rows rows) {
    this.rows = rows;
  }

  byte[] write() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      out.writeLong(rows.first());
      out.writeLong(from);
      out.writeLong(matches);
      out.writeLong(matchedTo);
      out.writeInt(rows.all().size());
      for (UnsafeRow row : rows.all()) {
        byte[] packed = row.getBytes();
        out.writeInt(packed.length);
        out.write(packed);
      }
      out.writeInt(attempts.size());
      for (Attempt each : attempts) {
        write(each, out);
      }
      opened.write(out);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return bytes.toByteArray();
  }

  private static void write(Attempt attempt, DataOutputStream out) throws IOException {
    Map<Path, Integer> numbers = new IdentityHashMap<>();
    List<Path> steps = new ArrayList<>();
    gather(attempt.match, numbers, steps);
    attempt.partials.forEach(each -> gather(each.path(), numbers, steps));
    steps.sort(Comparator.comparingLong(each -> each.row));
    for (int i = 0; i < steps.size(); i++) {
      numbers.put(steps.get(i), i);
    }
    out.writeLong(attempt.start);
    out.writeLong(attempt.read);
    out.writeInt(steps.size());
    for (Path each : steps) {
      out.writeInt(number(each.before, numbers));
      out.writeShort(each.variable << 1 | (each.leftOut ? 1 : 0));
    }
    out.writeBoolean(attempt.found);
    out.writeInt(number(attempt.match, numbers));
    out.writeInt(attempt.partials.size());
    for (Attempt.Partial each : attempt.partials) {
      out.writeInt(each.at());
      out.writeInt(number(each.path(), numbers));
    }
    out.writeShort(attempt.awaited == null ? -1 : attempt.awaited.length);
    for (int i = 0; attempt.awaited != null && i < attempt.awaited.length; i++) {
      out.writeBoolean(attempt.awaited[i]);
    }
  }

  private static int number(Path path, Map<Path, Integer> numbers) {
    return path == null ? -1 : numbers.get(path);
  }

  private static void gather(Path last, Map<Path, Integer> numbers, List<Path> steps) {
    for (Path each = last; each != null && numbers.putIfAbsent(each, 0) == null; each = each.before) {
      steps.add(each);
    }
  }

  /** @param history what the conditions remember of a partial match; it is built anew from its rows */
  static Work read(byte[] saved, int columns, History history) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(saved))) {
      int version = in.readByte();
      if (version != VERSION && version != UNCOUNTED) {
        throw new IllegalStateException("partial matches of version " + version + " cannot be read");
      }
      Work work = new Work(new Rows(in.readLong()));
      work.from = in.readLong();
      work.matches = in.readLong();
      work.matchedTo = in.readLong();
      for (int count = in.readInt(); count > 0; count--) {
        work.rows.add(Unpack.row(in.readNBytes(in.readInt()), columns));
      }
      for (int count = in.readInt(); count > 0; count--) {
        work.attempts.add(read(in, work.rows, history));
      }
      if (version == UNCOUNTED) {
        work.opened.forget(work.rows.first());
      } else {
        work.opened.read(in);
      }
      return work;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static Attempt read(DataInputStream in, Rows rows, History history) throws IOException {
    Attempt attempt = new Attempt(in.readLong());
    attempt.read = in.readLong();
    Path[] steps = new Path[in.readInt()];
    Registers empty = history.empty();
    for (int i = 0; i < steps.length; i++) {
      int number = in.readInt();
      Path before = number < 0 ? null : steps[number];
      int label = in.readShort();
      long row = before == null ? attempt.start : before.row + 1;
      Registers registers = before == null ? empty : before.registers;
      Registers now = history.after(registers, row, rows.get(row), label >> 1);
      steps[i] = new Path(before, row, label >> 1, (label & 1) == 1, now);
    }
    attempt.found = in.readBoolean();
    int match = in.readInt();
    attempt.match = match < 0 ? null : steps[match];
    for (int count = in.readInt(); count > 0; count--) {
      int at = in.readInt();
      int last = in.readInt();
      attempt.partials.add(new Attempt.Partial(at, last < 0 ? null : steps[last]));
    }
    int awaited = in.readShort();
    attempt.awaited = awaited < 0 ? null : new boolean[awaited];
    for (int i = 0; i < awaited; i++) {
      attempt.awaited[i] = in.readBoolean();
    }
    return attempt;
  }
}
