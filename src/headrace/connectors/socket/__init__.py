"""Lines of text from a TCP socket."""
