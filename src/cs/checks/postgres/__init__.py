"""Checks counted in PostgreSQL, by themselves and with what they are answered with."""
