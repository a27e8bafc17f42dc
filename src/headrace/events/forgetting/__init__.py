"""Forgetting: the value of a column goes in; what an application knew of it is removed, and a report comes out."""
