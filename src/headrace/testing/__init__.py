"""Test files go in, results of their cases come out; what runs them is an engine passed in."""
