package org.headrace.changelog;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A streaming plan whose rows carry a weight.
 *
 * @param columns what the rows are, in order, without the weight
 * @param grows whether rows only ever come
 */
record Rel(LogicalPlan plan, List<Attribute> columns, Attribute weight, boolean grows) {}
