package org.headrace.rows;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Lists and maps of Java go in, those of Scala come out, and the other way. */
public final class Scala {
  private Scala() {}

  @SafeVarargs
  public static <T> Seq<T> seq(T... values) {
    List<T> all = new ArrayList<>();
    for (T value : values) {
      all.add(value);
    }
    return seq(all);
  }

  public static <T> Seq<T> seq(Collection<? extends T> values) {
    return CollectionConverters.<T>asScala(new ArrayList<T>(values)).toSeq();
  }

  public static <K, V> scala.collection.immutable.Map<K, V> map(Map<K, V> values) {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(values));
  }

  public static <T> List<T> list(scala.collection.Seq<? extends T> values) {
    return new ArrayList<>(CollectionConverters.asJava(values));
  }
}
