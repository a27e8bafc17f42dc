"""Steps go in, streaming queries come out."""
