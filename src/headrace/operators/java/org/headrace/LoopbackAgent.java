package org.headrace;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.ClassWriter;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;

/**
 * Keeps Spark on this machine. Where Spark listens without saying on which address, as the shuffle of its real-time mode
 * does, everybody on the network could connect; with this agent it then listens on 127.0.0.1. A local session loads it.
 */
public final class LoopbackAgent {
  private static final String SERVER = "org/apache/spark/network/server/TransportServer";
  private static final String ADDRESS = "java/net/InetSocketAddress";

  private LoopbackAgent() {}

  /** Is called by the JVM before Spark starts. */
  public static void premain(String arguments, Instrumentation instrumentation) {
    instrumentation.addTransformer(new Rewriter());
  }

  private static final class Rewriter implements ClassFileTransformer {
    @Override
    public byte[] transform(
        ClassLoader loader, String name, Class<?> old, ProtectionDomain domain, byte[] bytes) {
      if (!SERVER.equals(name)) {
        return null;
      }
      ClassReader reader = new ClassReader(bytes);
      ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
      reader.accept(new Methods(writer), 0);
      return writer.toByteArray();
    }
  }

  private static final class Methods extends ClassVisitor {
    Methods(ClassVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      return new Calls(super.visitMethod(access, name, descriptor, signature, exceptions));
    }
  }

  private static final class Calls extends MethodVisitor {
    Calls(MethodVisitor next) {
      super(Opcodes.ASM9, next);
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
      if (ADDRESS.equals(owner) && "<init>".equals(name) && "(I)V".equals(descriptor)) {
        super.visitLdcInsn("127.0.0.1"); // under the port, which is on the stack already
        super.visitInsn(Opcodes.SWAP);
        super.visitMethodInsn(opcode, owner, name, "(Ljava/lang/String;I)V", isInterface);
      } else {
        super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
      }
    }
  }
}
