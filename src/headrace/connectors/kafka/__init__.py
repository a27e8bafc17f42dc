"""The connector kafka."""
