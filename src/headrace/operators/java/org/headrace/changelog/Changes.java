package org.headrace.changelog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.headrace.rows.Bytes;
import scala.jdk.javaapi.CollectionConverters;

/** Rows with weights: how often each comes, or goes if negative. What cancels is gone. */
final class Changes implements Iterable<Map.Entry<Bytes, long[]>> {
  private final Map<Bytes, long[]> weights = new LinkedHashMap<>();

  void add(byte[] row, long weight) {
    if (weight != 0) {
      weights.computeIfAbsent(new Bytes(row), any -> new long[1])[0] += weight;
    }
  }

  @Override
  public Iterator<Map.Entry<Bytes, long[]>> iterator() {
    weights.values().removeIf(weight -> weight[0] == 0);
    return weights.entrySet().iterator();
  }

  /** Return what takes these changes back. */
  Changes reversed() {
    Changes result = new Changes();
    weights.forEach((row, weight) -> result.add(row.value(), -weight[0]));
    return result;
  }

  /** Return the changes in an order that does not depend on who came first. */
  List<Map.Entry<Bytes, long[]>> sorted() {
    List<Map.Entry<Bytes, long[]>> all = new ArrayList<>();
    forEach(all::add);
    all.sort((one, other) -> Arrays.compareUnsigned(one.getKey().value(), other.getKey().value()));
    return all;
  }

  /** Return the changes as an operator's output, what goes first. */
  scala.collection.Iterator<Row> rows() {
    List<Row> going = new ArrayList<>();
    List<Row> coming = new ArrayList<>();
    for (Map.Entry<Bytes, long[]> each : this) {
      long weight = each.getValue()[0];
      (weight < 0 ? going : coming).add(RowFactory.create(each.getKey().value(), weight));
    }
    going.addAll(coming);
    return CollectionConverters.asScala(going.iterator());
  }
}
