"""Users and access: who somebody is, what they may do, and what was done."""
