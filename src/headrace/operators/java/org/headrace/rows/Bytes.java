package org.headrace.rows;

import java.util.Arrays;

/** Bytes that can be a key of a map. */
public record Bytes(byte[] value) {
  @Override
  public boolean equals(Object other) {
    return other instanceof Bytes that && Arrays.equals(value, that.value);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(value);
  }
}
