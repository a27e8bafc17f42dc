package org.headrace.json;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/** A string that is written with backslashes goes in, what it says comes out. */
final class Escapes {
  private static final String SHORT = "\"\\/bfnrt";
  private static final String MEANT = "\"\\/\b\f\n\r\t";

  private Escapes() {}

  /** Read up to the closing quote; return null if it is not plain: half a pair of surrogates is not. */
  static UTF8String string(Line line) {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    for (int next = line.next(); next != '"'; next = line.next()) {
      if (next < ' ') {
        return null;
      }
      if (next != '\\') {
        said.write(next);
      } else if (!escaped(line, said)) {
        return null;
      }
    }
    UTF8String text = UTF8String.fromBytes(said.toByteArray());
    return text.isValid() ? text : null;
  }

  private static boolean escaped(Line line, ByteArrayOutputStream said) {
    int next = line.next();
    if (next != 'u') {
      int meant = SHORT.indexOf(next);
      if (meant >= 0) {
        said.write(MEANT.charAt(meant));
      }
      return meant >= 0;
    }
    int unit = unit(line);
    if (unit < 0 || Character.isLowSurrogate((char) unit)) {
      return false;
    }
    int point = unit;
    if (Character.isHighSurrogate((char) unit)) {
      int low = line.next() == '\\' && line.next() == 'u' ? unit(line) : -1;
      if (low < 0 || !Character.isLowSurrogate((char) low)) {
        return false;
      }
      point = Character.toCodePoint((char) unit, (char) low);
    }
    said.writeBytes(Character.toString(point).getBytes(StandardCharsets.UTF_8));
    return true;
  }

  private static int unit(Line line) {
    int unit = 0;
    for (int i = 0; i < 4; i++) {
      int next = line.next();
      int digit = next < 0 || next > 'f' ? -1 : Character.digit((char) next, 16);
      if (digit < 0) {
        return -1;
      }
      unit = unit << 4 | digit;
    }
    return unit;
  }
}
