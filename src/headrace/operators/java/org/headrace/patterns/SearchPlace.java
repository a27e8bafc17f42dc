package org.headrace.patterns;

import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Says of which pattern and key a row is, for people.
 *
 * @param pattern what the pattern is called; null if it has no name
 * @param columns the columns of the key among those of a row
 */
record SearchPlace(String pattern, List<Column> columns) implements Serializable {
  /** A column of the key, and where in a row it stands. */
  record Column(String name, int at, DataType type) implements Serializable {}

  String of(UnsafeRow row) {
    List<String> told = new ArrayList<>();
    if (pattern != null) {
      told.add(pattern);
    }
    for (Column each : columns) {
      told.add(each.name() + " = " + text(row, each));
    }
    return String.join(", ", told);
  }

  private static String text(UnsafeRow row, Column column) {
    if (row.isNullAt(column.at())) {
      return "NULL";
    }
    if (column.type() instanceof TimestampType) {
      return Instant.EPOCH.plus(row.getLong(column.at()), ChronoUnit.MICROS).toString();
    }
    if (column.type() instanceof DateType) {
      return LocalDate.ofEpochDay(row.getInt(column.at())).toString();
    }
    return String.valueOf(row.get(column.at(), column.type()));
  }
}
