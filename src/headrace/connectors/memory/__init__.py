"""Rows in this process, for tests and notebooks."""
