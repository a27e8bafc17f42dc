package org.headrace.patterns;

/**
 * What expressions can still ask of the rows of a match so far: numbers of rows, and buffers of aggregates. They are
 * never changed: another row makes others.
 */
record Registers(long[] cells, Object[][] buffers) {}
