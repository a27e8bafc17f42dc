"""Hashes of Redis."""
