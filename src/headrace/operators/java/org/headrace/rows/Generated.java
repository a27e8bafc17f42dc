package org.headrace.rows;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;

/** The Java that Spark compiles for an expression of ours: call one method with what was evaluated before. */
public final class Generated {
  private Generated() {}

  public static ExprCode call(
      CodegenContext context, ExprCode code, ExprCode inner, Expression owner, String type, String method) {
    String self = context.addReferenceObj(method, owner, owner.getClass().getName());
    String line = "\n" + type + " " + code.value() + " = " + self + "." + method + "(" + inner.value() + ");\n";
    Block block = inner.code().$plus(new CodeBlock(Scala.seq(line), Scala.seq()));
    return code.copy(block, FalseLiteral$.MODULE$, code.value());
  }
}
