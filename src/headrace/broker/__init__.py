"""A real Kafka of one node on this machine, without an installation."""
