"""Statements go in, named objects come out."""
