"""What runs inside Spark's JVM: a small Java library, compiled once on first use."""
