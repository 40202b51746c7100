"""The event log and its snapshots in a SQLite file."""
