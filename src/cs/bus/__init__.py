"""The message bus: its port, its topics and messages, and the buses in memory and on Kafka."""
