package org.headrace.json;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** Reads arrays of one type of elements. */
record PlainArray(Plain element) implements Plain {
  @Override
  public Object read(Line line) {
    if (!line.take('[')) {
      return NOT;
    }
    List<Object> values = new ArrayList<>();
    if (!line.take(']')) {
      do {
        Object value = element.value(line);
        if (value == NOT) {
          return NOT;
        }
        values.add(value);
      } while (line.take(','));
      if (!line.take(']')) {
        return NOT;
      }
    }
    return new GenericArrayData(values.toArray());
  }
}
