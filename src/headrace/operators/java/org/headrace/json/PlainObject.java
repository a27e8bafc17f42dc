package org.headrace.json;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** Reads objects into rows; a member that is no field is read and forgotten, a field that is missing is NULL. */
final class PlainObject implements Plain {
  private final byte[][] names;
  private final Plain[] fields;
  /** In which object a field was seen last: one that is seen twice in the same is not plain. */
  private final long[] seen;

  private final int columns;
  private long objects;

  /** @param columns how many a row has; those behind the fields stay NULL */
  PlainObject(String[] names, Plain[] fields, int columns) {
    this.fields = fields;
    this.columns = columns;
    this.names = new byte[names.length][];
    for (int i = 0; i < names.length; i++) {
      this.names[i] = names[i].getBytes(StandardCharsets.UTF_8);
    }
    seen = new long[names.length];
  }

  @Override
  public Object read(Line line) {
    if (!line.take('{')) {
      return NOT;
    }
    Object[] values = new Object[columns];
    objects++;
    int likely = 0;
    if (line.take('}')) {
      return new GenericInternalRow(values);
    }
    do {
      if (!line.name()) {
        return NOT;
      }
      int field = field(line, likely);
      if (!line.take(':')) {
        return NOT;
      }
      if (field < 0) {
        if (!line.skip(0)) {
          return NOT;
        }
      } else {
        Object value = fields[field].value(line);
        if (value == NOT || seen[field] == objects) {
          return NOT;
        }
        values[field] = value;
        seen[field] = objects;
        likely = field + 1;
      }
    } while (line.take(','));
    return line.take('}') ? new GenericInternalRow(values) : NOT;
  }

  /** Return the field of the name that was read; writers keep to one order, so the likely one is tried first. */
  private int field(Line line, int likely) {
    for (int i = likely; i < names.length; i++) {
      if (line.isNamed(names[i])) {
        return i;
      }
    }
    for (int i = 0; i < likely; i++) {
      if (line.isNamed(names[i])) {
        return i;
      }
    }
    return -1;
  }
}
