package org.headrace.kafka;

import java.util.Iterator;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.Callback;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.headrace.Faults;

/** Writes the rows of one partition of a batch in one transaction, unless they were written before. */
final class TransactionalWriter extends PartitionWriter {
  private static final long serialVersionUID = 1L;
  private final Transactions transactions;
  private final long batch;

  TransactionalWriter(Transactions transactions, long batch) {
    this.transactions = transactions;
    this.batch = batch;
  }

  @Override
  public void call(Iterator<InternalRow> rows) throws Exception {
    if (!rows.hasNext()) {
      return;
    }
    InternalRow first = rows.next();
    String part = part(first);
    Transactions.Session session =
        transactions.open(part != null ? part : String.valueOf(TaskContext.getPartitionId()));
    if (session.lastBatch >= batch) {
      drain(rows);
      transactions.release(session);
      return;
    }
    try {
      write(first, part, rows, session);
    } catch (Exception error) {
      transactions.discard(session);
      throw error;
    }
    transactions.release(session);
  }

  private void write(InternalRow first, String part, Iterator<InternalRow> rows, Transactions.Session session)
      throws Exception {
    AtomicReference<Exception> failure = new AtomicReference<>();
    Callback callback = remember(failure);
    session.producer.beginTransaction();
    session.producer.send(record(first), callback);
    while (rows.hasNext() && failure.get() == null) {
      InternalRow row = rows.next();
      if (part != null && !part.equals(part(row))) {
        throw new IllegalStateException("rows of " + part + " and " + part(row) + " are in one part of a batch");
      }
      session.producer.send(record(row), callback);
    }
    check(failure);
    Faults.reach("kafka-rows-sent");
    session.commit(batch);
    Faults.reach("kafka-committed");
  }
}
