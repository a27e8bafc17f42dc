"""Commands and how their answers look."""
