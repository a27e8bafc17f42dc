"""What the server remembers: its tables, how they are reached and how they change between versions."""
