package org.headrace.changelog;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataType;
import org.headrace.rows.Bytes;
import org.headrace.rows.Expressions;
import org.headrace.rows.Unpack;

/**
 * Ranks the rows of one key and computes over their neighbours. Rows that the order does not tell apart stand in the
 * order of their bytes, so the answer does not depend on who came first.
 */
final class WindowOperator extends Operator {
  private static final long serialVersionUID = 1L;
  private final List<Attribute> input;
  private final List<SortOrder> order;
  private final List<WindowExpression> functions;
  private final Cut cut;
  private final boolean grows;
  private final boolean trims;
  private transient MapState<byte[], Long> rows;
  private transient InterpretedOrdering ordering;
  private transient List<Ranked> ranked;
  private transient UnsafeProjection published;

  /**
   * @param cut which rows of the order are wanted
   * @param grows whether no row ever goes
   * @param trims whether rows behind the cut can be forgotten, because they are not wanted for the others either
   */
  WindowOperator(
      List<Attribute> input,
      List<SortOrder> order,
      List<WindowExpression> functions,
      Cut cut,
      boolean grows,
      boolean trims,
      Duration remembered) {
    super(remembered);
    this.input = new ArrayList<>(input);
    this.order = new ArrayList<>(order);
    this.functions = new ArrayList<>(functions);
    this.cut = cut;
    this.grows = grows;
    this.trims = grows && trims;
  }

  @Override
  void open() {
    rows = getHandle().getMapState("rows", Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE());
    ordering = Expressions.ordering(order, input);
    ranked = functions.stream().map(each -> Ranked.of(each, input)).toList();
    List<DataType> types = new ArrayList<>(input.stream().map(Attribute::dataType).toList());
    functions.forEach(each -> types.add(each.dataType()));
    published = Expressions.rows(types);
  }

  @Override
  Changes take(byte[] key, scala.collection.Iterator<Row> given, boolean again) {
    Changes batch = gather(given);
    Changes changes = new Changes();
    if (!batch.iterator().hasNext() && !again) {
      return changes;
    }
    Changes known = known();
    if (!again) {
      publish(sorted(known), changes, -1);
    }
    for (Map.Entry<Bytes, long[]> each : batch) {
      byte[] row = each.getKey().value();
      Long before = rows.getValue(row);
      long after = counted(before == null ? 0 : before, each.getValue()[0]);
      known.add(row, after - (before == null ? 0 : before));
      if (after == 0) {
        rows.removeKey(row);
      } else {
        rows.updateValue(row, after);
      }
    }
    List<UnsafeRow> now = sorted(known);
    int wanted = publish(now, changes, 1);
    if (trims && wanted < now.size()) {
      forget(now, wanted);
    }
    return changes;
  }

  @Override
  boolean expire(byte[] key, Changes changes) {
    List<UnsafeRow> all = sorted(known());
    publish(all, changes, -1);
    if (grows) {
      rows.clear();
    }
    return !grows && !all.isEmpty();
  }

  /** Return the rows of the key, each with how often it is there. */
  private Changes known() {
    Changes known = new Changes();
    scala.collection.Iterator<scala.Tuple2<byte[], Long>> entries = rows.iterator();
    while (entries.hasNext()) {
      scala.Tuple2<byte[], Long> entry = entries.next();
      known.add(entry._1(), entry._2());
    }
    return known;
  }

  private List<UnsafeRow> sorted(Changes known) {
    List<UnsafeRow> all = new ArrayList<>();
    for (Map.Entry<Bytes, long[]> each : known) {
      UnsafeRow row = Unpack.row(each.getKey().value(), input.size());
      for (long i = 0; i < each.getValue()[0]; i++) {
        all.add(row);
      }
    }
    all.sort(
        (one, other) -> {
          int compared = ordering.compare(one, other);
          return compared != 0 ? compared : Arrays.compareUnsigned(one.getBytes(), other.getBytes());
        });
    return all;
  }

  /** Publish the wanted rows with what is computed over them; return how many of the order had to be looked at. */
  private int publish(List<UnsafeRow> all, Changes changes, long weight) {
    Peers peers = new Peers(all, ordering);
    int wanted = cut.last(peers);
    Object[][] computed = new Object[ranked.size()][];
    for (int i = 0; i < computed.length; i++) {
      computed[i] = ranked.get(i).over(peers, wanted);
    }
    for (int position = cut.first(); position < wanted; position++) {
      UnsafeRow row = all.get(position);
      if (computed.length == 0) {
        changes.add(row.getBytes(), weight);
        continue;
      }
      Object[] values = new Object[computed.length];
      for (int i = 0; i < values.length; i++) {
        values[i] = computed[i][position];
      }
      changes.add(published.apply(new JoinedRow(row, new GenericInternalRow(values))).copy().getBytes(), weight);
    }
    return wanted;
  }

  /** Forget the rows behind the cut: rows only come, so none of them can be wanted again. */
  private void forget(List<UnsafeRow> all, int wanted) {
    Set<Bytes> kept = new HashSet<>();
    for (UnsafeRow row : all.subList(0, wanted)) {
      kept.add(new Bytes(row.getBytes()));
    }
    for (UnsafeRow row : all.subList(wanted, all.size())) {
      if (!kept.contains(new Bytes(row.getBytes()))) {
        rows.removeKey(row.getBytes());
      }
    }
  }
}
