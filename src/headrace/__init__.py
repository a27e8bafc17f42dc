"""Headrace: continuous queries whose answers stay current, on Apache Spark."""
