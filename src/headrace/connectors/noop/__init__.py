"""Rows computed and thrown away, for measuring."""
