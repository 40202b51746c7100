"""Checks counted in PostgreSQL."""
