package org.headrace.json;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A text under a cursor, read as plain JSON. Every method that reads says whether it could, and moves behind what it has
 * read; where it could not, the cursor's place means nothing any more.
 */
final class Line {
  private static final int DEPTH = 64;
  /** More digits may not fit a long. */
  private static final int DIGITS = 18;

  private static final int LONGEST_NUMBER = 400;
  private static final int LONGEST_NAME = 1_000;

  private byte[] bytes;
  private int at;
  private int end;

  /** Of the name or the quoted digits that were read last. */
  private int from;

  private int to;

  /** Of the number that was read last. */
  private int numberFrom;

  private boolean negative;
  private boolean whole;
  private boolean exact;
  private long digits;
  private int decimals;

  void of(UTF8String text) {
    int size = text.numBytes();
    if (text.getBaseObject() instanceof byte[] array) {
      bytes = array;
      at = (int) (text.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
    } else {
      bytes = text.getBytes();
      at = 0;
    }
    end = at + size;
  }

  /** Read white space and then this character. */
  boolean take(char wanted) {
    if (peek() != wanted) {
      return false;
    }
    at++;
    return true;
  }

  /** Read white space; return the character behind it, or 0 at the end. */
  int peek() {
    while (at < end) {
      byte next = bytes[at];
      if (next != ' ' && next != '\t' && next != '\n' && next != '\r') {
        return next;
      }
      at++;
    }
    return 0;
  }

  /** Read white space; say whether nothing is behind it. */
  boolean isRead() {
    return peek() == 0 && at == end;
  }

  boolean literal(byte[] word) {
    int behind = at + word.length;
    if (behind > end || !Arrays.equals(bytes, at, behind, word, 0, word.length)) {
      return false;
    }
    at = behind;
    return true;
  }

  /** Read a name in quotes, as it stands; one that is written with a backslash is not plain. */
  boolean name() {
    return take('"') && unescaped() && to - from < LONGEST_NAME;
  }

  boolean isNamed(byte[] name) {
    return to - from == name.length && Arrays.equals(bytes, from, to, name, 0, name.length);
  }

  /** Read a string in quotes; return null if it is not plain. What is returned may lie within the line. */
  UTF8String string() {
    if (!take('"')) {
      return null;
    }
    int start = at;
    boolean ascii = true;
    while (at < end) {
      byte next = bytes[at++];
      if (next == '"') {
        UTF8String text = UTF8String.fromBytes(bytes, start, at - 1 - start);
        return ascii || text.isValid() ? text : null;
      }
      if (next == '\\') {
        at = start;
        return Escapes.string(this);
      }
      if (next < ' ') {
        if (next >= 0) {
          return null;
        }
        ascii = false;
      }
    }
    return null;
  }

  /** Return the next byte as it stands, or -1 at the end. */
  int next() {
    return at < end ? bytes[at++] & 0xff : -1;
  }

  private boolean unescaped() {
    from = at;
    boolean ascii = true;
    while (at < end) {
      byte next = bytes[at++];
      if (next == '"') {
        to = at - 1;
        return ascii || UTF8String.fromBytes(bytes, from, to - from).isValid();
      }
      if (next == '\\' || (next >= 0 && next < ' ')) {
        return false;
      }
      ascii &= next >= 0;
    }
    return false;
  }

  /** Read digits in quotes and what is between them; the place of the first is returned, or -1. */
  int quoted(int shortest, int longest) {
    if (!take('"') || !unescaped() || to - from < shortest || to - from > longest) {
      return -1;
    }
    return from;
  }

  /** Return the place behind the string that was read last. */
  int quotedEnd() {
    return to;
  }

  byte byteAt(int place) {
    return bytes[place];
  }

  /** Read a number. */
  boolean number() {
    peek();
    numberFrom = at;
    negative = at < end && bytes[at] == '-';
    if (negative) {
      at++;
    }
    digits = 0;
    int first = at;
    digits();
    int count = at - first;
    if (count == 0 || (count > 1 && bytes[first] == '0')) {
      return false;
    }
    decimals = 0;
    if (at < end && bytes[at] == '.') {
      at++;
      int point = at;
      digits();
      decimals = at - point;
      if (decimals == 0) {
        return false;
      }
    }
    whole = decimals == 0;
    exact = count + decimals <= DIGITS;
    return exponent() && at - numberFrom < LONGEST_NUMBER;
  }

  private void digits() {
    while (at < end && bytes[at] >= '0' && bytes[at] <= '9') {
      digits = digits * 10 + (bytes[at++] - '0');
    }
  }

  private boolean exponent() {
    if (at >= end || (bytes[at] | 0x20) != 'e') {
      return true;
    }
    whole = false;
    exact = false;
    at++;
    if (at < end && (bytes[at] == '+' || bytes[at] == '-')) {
      at++;
    }
    int first = at;
    digits();
    return at > first;
  }

  /** Say whether the number has neither point nor exponent. */
  boolean isWhole() {
    return whole;
  }

  /** Say whether the number has no exponent, and its digits fit a long. */
  boolean isExact() {
    return exact;
  }

  /** Return the number without its point. */
  long unscaled() {
    return negative ? -digits : digits;
  }

  /** Return how many digits stand behind the point. */
  int decimals() {
    return decimals;
  }

  /** Say whether the number is a zero with a minus. */
  boolean isNegativeZero() {
    return negative && digits == 0;
  }

  /** Return the number as it is written. */
  String written() {
    return new String(bytes, numberFrom, at - numberFrom, StandardCharsets.ISO_8859_1);
  }

  /** Read any value, and forget it. */
  boolean skip(int depth) {
    switch (peek()) {
      case '"':
        return string() != null;
      case '{':
        return depth < DEPTH && members(depth);
      case '[':
        return depth < DEPTH && elements(depth);
      case 't':
        return literal(Plain.TRUE);
      case 'f':
        return literal(Plain.FALSE);
      case 'n':
        return literal(Plain.NULL);
      default:
        return number();
    }
  }

  private boolean members(int depth) {
    at++;
    if (take('}')) {
      return true;
    }
    do {
      if (!name() || !take(':') || !skip(depth + 1)) {
        return false;
      }
    } while (take(','));
    return take('}');
  }

  private boolean elements(int depth) {
    at++;
    if (take(']')) {
      return true;
    }
    do {
      if (!skip(depth + 1)) {
        return false;
      }
    } while (take(','));
    return take(']');
  }
}
