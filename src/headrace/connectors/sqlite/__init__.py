"""Tables of an SQLite file."""
