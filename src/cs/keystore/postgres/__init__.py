"""Data keys in PostgreSQL."""
