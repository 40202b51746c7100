"""The event log and its snapshots in PostgreSQL."""
