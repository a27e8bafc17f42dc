package org.headrace;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;
import org.headrace.rows.Scala;
import org.headrace.rows.Trees;

/** The plan of a batch goes in; which of its operators that keep state are whose comes out. */
public final class StateOperators {
  private StateOperators() {}

  /** Return the processor that stands last in a frame, or null if there is none. */
  public static Object processor(Dataset<Row> frame) {
    LogicalPlan plan = Trees.analyzed(frame);
    while (!(plan instanceof TransformWithState) && plan.children().size() == 1) {
      plan = plan.children().head();
    }
    return plan instanceof TransformWithState found ? found.statefulProcessor() : null;
  }

  /**
   * Return which of the processors each operator that keeps state runs, in the order in which Spark reports them.
   *
   * @return numbers of processors; negative for an operator that runs none of them
   */
  public static List<Integer> places(SparkPlan plan, List<Object> processors) {
    List<Integer> found = new ArrayList<>();
    add(plan, processors, found);
    return found;
  }

  private static void add(SparkPlan plan, List<Object> processors, List<Integer> found) {
    if (plan instanceof StateStoreWriter) {
      Object mine = plan instanceof TransformWithStateExec exec ? exec.statefulProcessor() : null;
      int place = processors.size() - 1;
      while (place >= 0 && processors.get(place) != mine) {
        place--;
      }
      found.add(place);
    }
    for (SparkPlan each : Scala.list(plan.children())) {
      add(each, processors, found);
    }
  }
}
