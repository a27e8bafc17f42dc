"""Files in a folder, as a stream, a sink or a static table."""
