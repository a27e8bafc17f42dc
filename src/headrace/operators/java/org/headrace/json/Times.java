package org.headrace.json;

import java.time.LocalDate;

/** Reads dates and instants as ISO 8601 writes them in full. */
final class Times {
  private static final int DATE = 10;
  private static final int SECONDS = 19;
  private static final int LONGEST = 32;
  private static final int FURTHEST = 17;

  private Times() {}

  /** Read `2024-01-31`; return the days since 1970. */
  static Object date(Line line) {
    int from = line.quoted(DATE, DATE);
    long day = from < 0 ? Long.MIN_VALUE : day(line, from);
    return day == Long.MIN_VALUE ? Plain.NOT : (Object) (int) day;
  }

  /** Read `2024-01-31T10:00:00.5Z`, or with an offset; without either only where the session is in UTC. */
  static Object timestamp(Line line, boolean utc) {
    int from = line.quoted(SECONDS, LONGEST);
    if (from < 0) {
      return Plain.NOT;
    }
    long day = day(line, from);
    int hour = two(line, from + 11);
    int minute = two(line, from + 14);
    int second = two(line, from + 17);
    byte between = line.byteAt(from + DATE);
    if (day == Long.MIN_VALUE || (between != 'T' && between != ' ')) {
      return Plain.NOT;
    }
    if (line.byteAt(from + 13) != ':' || line.byteAt(from + 16) != ':') {
      return Plain.NOT;
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
      return Plain.NOT;
    }
    int at = from + SECONDS;
    int end = line.quotedEnd();
    int micros = 0;
    if (at < end && line.byteAt(at) == '.') {
      int point = ++at;
      int unit = 100_000;
      for (; at < end && line.byteAt(at) >= '0' && line.byteAt(at) <= '9'; at++, unit /= 10) {
        micros += (line.byteAt(at) - '0') * unit;
      }
      if (at == point || at - point > 6) {
        return Plain.NOT;
      }
    }
    int offset = offset(line, at, end, utc);
    if (offset == Integer.MIN_VALUE) {
      return Plain.NOT;
    }
    long seconds = day * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    return seconds * 1_000_000 + micros;
  }

  /** Return the seconds that a zone is ahead, or the smallest number. */
  private static int offset(Line line, int at, int end, boolean utc) {
    if (at == end) {
      return utc ? 0 : Integer.MIN_VALUE;
    }
    byte sign = line.byteAt(at);
    if (sign == 'Z') {
      return at + 1 == end ? 0 : Integer.MIN_VALUE;
    }
    if ((sign != '+' && sign != '-') || end - at != 6 || line.byteAt(at + 3) != ':') {
      return Integer.MIN_VALUE;
    }
    int hours = two(line, at + 1);
    int minutes = two(line, at + 4);
    if (hours < 0 || hours > FURTHEST || minutes < 0 || minutes > 59) {
      return Integer.MIN_VALUE;
    }
    return (hours * 3_600 + minutes * 60) * (sign == '-' ? -1 : 1);
  }

  private static long day(Line line, int from) {
    int century = two(line, from);
    int year = two(line, from + 2);
    int month = two(line, from + 5);
    int day = two(line, from + 8);
    boolean written = century >= 0 && year >= 0 && line.byteAt(from + 4) == '-' && line.byteAt(from + 7) == '-';
    if (!written || month < 1 || month > 12 || day < 1 || day > 31 || century * 100 + year == 0) {
      return Long.MIN_VALUE;
    }
    if (day > 28 && day > java.time.YearMonth.of(century * 100 + year, month).lengthOfMonth()) {
      return Long.MIN_VALUE;
    }
    return LocalDate.of(century * 100 + year, month, day).toEpochDay();
  }

  /** Return the number that two digits are, or less than 0. */
  private static int two(Line line, int at) {
    int tens = line.byteAt(at) - '0';
    int ones = line.byteAt(at + 1) - '0';
    return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -1 : tens * 10 + ones;
  }
}
