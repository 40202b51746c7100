"""Data keys in a SQLite file."""
