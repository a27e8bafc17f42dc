package org.headrace.changelog;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.headrace.rows.Bytes;
import org.headrace.rows.Expressions;
import org.headrace.rows.Unpack;
import scala.Tuple2;

/**
 * Joins the rows of one key. Each row is remembered with how often it is there and how many rows of the other side it
 * meets, so that a row without a partner can be published, and withdrawn when one comes.
 */
final class JoinOperator extends Operator {
  private static final long serialVersionUID = 1L;

  /** Which rows a join gives. */
  enum Kind {
    INNER(false, false),
    LEFT(true, false),
    RIGHT(false, true),
    FULL(true, true),
    SEMI(true, false),
    ANTI(true, false),
    EXISTENCE(true, false);

    private final boolean left;
    private final boolean right;

    Kind(boolean left, boolean right) {
      this.left = left;
      this.right = right;
    }

    boolean pairs() {
      return this == INNER || this == LEFT || this == RIGHT || this == FULL;
    }
  }

  private final Kind kind;
  private final int keys;
  private final List<Attribute> left;
  private final List<Attribute> right;
  private final Expression condition;
  private final boolean leftGrows;
  private final boolean rightGrows;
  private transient MapState<byte[], byte[]> lefts;
  private transient MapState<byte[], byte[]> rights;
  private transient BasePredicate test;
  private transient UnsafeProjection joined;
  private transient UnsafeRow noLeft;
  private transient UnsafeRow noRight;
  private transient Changes changes;

  /**
   * @param condition what must hold beside the equality of keys; null for nothing
   * @param leftGrows whether no row of the left side ever goes
   */
  JoinOperator(
      Kind kind,
      int keys,
      List<Attribute> left,
      List<Attribute> right,
      Expression condition,
      boolean leftGrows,
      boolean rightGrows,
      Duration remembered) {
    super(remembered);
    this.kind = kind;
    this.keys = keys;
    this.left = new ArrayList<>(left);
    this.right = new ArrayList<>(right);
    this.condition = condition;
    this.leftGrows = leftGrows;
    this.rightGrows = rightGrows;
  }

  @Override
  void open() {
    lefts = getHandle().getMapState("left", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    rights = getHandle().getMapState("right", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    List<Attribute> both = Stream.concat(left.stream(), right.stream()).toList();
    test = condition == null ? null : Expressions.predicate(condition, both);
    List<DataType> types = new ArrayList<>(types(left));
    if (kind == Kind.EXISTENCE) {
      types.add(DataTypes.BooleanType);
    } else if (kind.pairs()) {
      types.addAll(types(right));
    }
    joined = Expressions.rows(types);
    noLeft = Expressions.rows(types(left)).apply(new GenericInternalRow(left.size())).copy();
    noRight = Expressions.rows(types(right)).apply(new GenericInternalRow(right.size())).copy();
  }

  private static List<DataType> types(List<Attribute> columns) {
    return columns.stream().map(Attribute::dataType).toList();
  }

  @Override
  Changes take(byte[] key, scala.collection.Iterator<Row> given, boolean again) {
    Changes ofLeft = new Changes();
    Changes ofRight = new Changes();
    while (given.hasNext()) {
      Row in = given.next();
      (in.getInt(1) == 0 ? ofLeft : ofRight).add(row(in), in.getLong(3));
    }
    boolean meets = !Unpack.key(key, keys).anyNull();
    if (!meets && !forgets()) { // nothing to remember: such a row gives the same whatever comes
      changes = new Changes();
      ofLeft.forEach(each -> lonely(true, each.getKey().value(), each.getValue()[0]));
      ofRight.forEach(each -> lonely(false, each.getKey().value(), each.getValue()[0]));
      return changes;
    }
    Changes result = new Changes();
    if (again) {
      Changes allLeft = all(lefts);
      Changes allRight = all(rights);
      takeBoth(allLeft.reversed(), allRight.reversed(), meets, new Changes());
      takeBoth(allLeft, allRight, meets, result);
    }
    takeBoth(ofLeft, ofRight, meets, result);
    return result;
  }

  @Override
  boolean expire(byte[] key, Changes result) {
    boolean meets = !Unpack.key(key, keys).anyNull();
    Changes allLeft = all(lefts);
    Changes allRight = all(rights);
    takeBoth(allLeft.reversed(), allRight.reversed(), meets, result);
    Changes keptLeft = leftGrows ? new Changes() : allLeft;
    Changes keptRight = rightGrows ? new Changes() : allRight;
    takeBoth(keptLeft, keptRight, meets, new Changes());
    return keptLeft.iterator().hasNext() || keptRight.iterator().hasNext();
  }

  /** Return the rows of one side, each with how often it is there. */
  private static Changes all(MapState<byte[], byte[]> side) {
    Changes rows = new Changes();
    scala.collection.Iterator<Tuple2<byte[], byte[]>> entries = side.iterator();
    while (entries.hasNext()) {
      Tuple2<byte[], byte[]> entry = entries.next();
      rows.add(entry._1(), ByteBuffer.wrap(entry._2()).getLong());
    }
    return rows;
  }

  /** Take in changes of both sides; what they change in the answer is added to a result. */
  private void takeBoth(Changes ofLeft, Changes ofRight, boolean meets, Changes result) {
    changes = result;
    takeAll(true, ofLeft, meets);
    takeAll(false, ofRight, meets);
  }

  /** A row that is remembered: how often it is there, and how many rows of the other side it meets. */
  private static final class Known {
    private final byte[] bytes;
    private final UnsafeRow row;
    private final long copies;
    private long partners;
    private boolean changed;

    Known(byte[] bytes, int width, byte[] counts) {
      ByteBuffer known = ByteBuffer.wrap(counts);
      this.bytes = bytes;
      this.row = Unpack.row(bytes, width);
      this.copies = known.getLong();
      this.partners = known.getLong();
    }
  }

  /** Let the rows of one side meet the other as it stands, then remember them. */
  private void takeAll(boolean isLeft, Changes rows, boolean meets) {
    if (!rows.iterator().hasNext()) {
      return;
    }
    MapState<byte[], byte[]> others = isLeft ? rights : lefts;
    List<Known> known = new ArrayList<>();
    scala.collection.Iterator<Tuple2<byte[], byte[]>> entries = others.iterator();
    while (meets && entries.hasNext()) {
      Tuple2<byte[], byte[]> entry = entries.next();
      known.add(new Known(entry._1(), (isLeft ? right : left).size(), entry._2()));
    }
    for (Map.Entry<Bytes, long[]> each : rows) {
      take(isLeft, each.getKey().value(), each.getValue()[0], known);
    }
    for (Known each : known) {
      if (each.changed) {
        others.updateValue(each.bytes, entry(each.copies, each.partners));
      }
    }
  }

  private void take(boolean isLeft, byte[] row, long weight, List<Known> others) {
    MapState<byte[], byte[]> own = isLeft ? lefts : rights;
    UnsafeRow mine = Unpack.row(row, (isLeft ? left : right).size());
    long met = 0;
    for (Known other : others) {
      if (!meet(isLeft ? mine : other.row, isLeft ? other.row : mine)) {
        continue;
      }
      met += other.copies;
      if (kind.pairs()) {
        pair(isLeft ? mine : other.row, isLeft ? other.row : mine, weight * other.copies);
      }
      if (isLeft ? kind.right : kind.left) {
        turn(!isLeft, other.bytes, other.copies, other.partners > 0, other.partners + weight > 0);
        other.partners += weight;
        other.changed = true;
      }
    }
    byte[] known = own.getValue(row);
    long before = known == null ? 0 : ByteBuffer.wrap(known).getLong();
    long after = counted(before, weight);
    if (isLeft ? kind.left : kind.right) {
      alone(isLeft, row, met > 0, after - before);
    }
    if (after == 0) {
      own.removeKey(row);
    } else {
      own.updateValue(row, entry(after, met));
    }
  }

  private static byte[] entry(long copies, long partners) {
    return ByteBuffer.allocate(16).putLong(copies).putLong(partners).array();
  }

  private boolean meet(UnsafeRow one, UnsafeRow other) {
    return test == null || test.eval(new JoinedRow(one, other));
  }

  private void pair(UnsafeRow one, UnsafeRow other, long weight) {
    changes.add(joined.apply(new JoinedRow(one, other)).copy().getBytes(), weight);
  }

  /** Publish what a row that can have no partner gives. */
  private void lonely(boolean isLeft, byte[] row, long weight) {
    if (isLeft ? kind.left : kind.right) {
      alone(isLeft, row, false, weight);
    }
  }

  /** Publish what a row gives by itself: its only row in a semi or anti join, or the one without a partner. */
  private void alone(boolean isLeft, byte[] row, boolean met, long weight) {
    UnsafeRow mine = Unpack.row(row, (isLeft ? left : right).size());
    switch (kind) {
      case SEMI -> {
        if (met) {
          changes.add(row, weight);
        }
      }
      case ANTI -> {
        if (!met) {
          changes.add(row, weight);
        }
      }
      case EXISTENCE -> {
        GenericInternalRow flag = new GenericInternalRow(new Object[] {met});
        changes.add(joined.apply(new JoinedRow(mine, flag)).copy().getBytes(), weight);
      }
      default -> {
        if (!met) {
          pair(isLeft ? mine : noLeft, isLeft ? noRight : mine, weight);
        }
      }
    }
  }

  /** A remembered row has got its first partner, or has lost its last. */
  private void turn(boolean isLeft, byte[] row, long copies, boolean before, boolean after) {
    if (before != after) {
      alone(isLeft, row, before, -copies);
      alone(isLeft, row, after, copies);
    }
  }
}
