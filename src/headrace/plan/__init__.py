"""Objects go in, steps come out; pure, so that checking and explaining start no JVM."""
