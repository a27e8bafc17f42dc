"""Made-up rows at a steady rate."""
