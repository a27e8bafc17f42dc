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
    Transactions.Session session = transactions.open(TaskContext.getPartitionId());
    if (session.lastBatch >= batch) {
      drain(rows);
      transactions.release(session);
      return;
    }
    try {
      write(rows, session);
    } catch (Exception error) {
      transactions.discard(session);
      throw error;
    }
    transactions.release(session);
  }

  private void write(Iterator<InternalRow> rows, Transactions.Session session) throws Exception {
    AtomicReference<Exception> failure = new AtomicReference<>();
    Callback callback = remember(failure);
    session.producer.beginTransaction();
    while (rows.hasNext() && failure.get() == null) {
      session.producer.send(record(rows.next()), callback);
    }
    check(failure);
    Faults.reach("kafka-rows-sent");
    session.commit(batch);
    Faults.reach("kafka-committed");
  }
}
