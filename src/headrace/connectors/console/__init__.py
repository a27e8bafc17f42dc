"""Rows printed on the terminal."""
