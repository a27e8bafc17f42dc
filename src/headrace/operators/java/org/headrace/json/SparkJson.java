package org.headrace.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.CreateJacksonParser$;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.FailureSafeParser;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.headrace.rows.Scala;
import scala.Function1;
import scala.Function2;
import scala.collection.Iterator;

/**
 * A text goes in, what Spark's reader of JSON files makes of it as a line comes out. Unlike from_json, that reader looks
 * at the bytes: a number in a STRING column keeps all its digits, and bytes that are no text are no record.
 */
final class SparkJson {
  private final FailureSafeParser<UTF8String> parser;

  /** @param columns with the one for a text that is none, which comes last */
  SparkJson(StructType columns, String corrupt, Map<String, String> options, String zone) {
    Map<String, String> all = new HashMap<>(options);
    all.put("mode", "PERMISSIVE");
    all.put("columnNameOfCorruptRecord", corrupt);
    JSONOptions read = new JSONOptions(Scala.map(all), zone, corrupt);
    StructType written = new StructType(Arrays.copyOf(columns.fields(), columns.size() - 1));
    JacksonParser jackson = new JacksonParser(written, read, false, Scala.seq());
    Function2<JsonFactory, UTF8String, JsonParser> open =
        (factory, text) -> CreateJacksonParser$.MODULE$.bytes(factory, text.getBytes());
    Function1<UTF8String, UTF8String> same = text -> text;
    parser = new FailureSafeParser<>(text -> jackson.parse(text, open, same), read.parseMode(), columns, corrupt);
  }

  /** Return the row of a text, or null if it holds no value. */
  InternalRow read(UTF8String text) {
    Iterator<InternalRow> rows = parser.parse(text);
    return rows.hasNext() ? rows.next() : null;
  }
}
