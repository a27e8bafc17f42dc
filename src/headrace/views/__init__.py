"""Stores of what a query has published: rows, change feed, batch numbers."""
