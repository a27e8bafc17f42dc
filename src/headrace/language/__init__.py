"""Text goes in, statements come out."""
