"""Views in a SQLite file."""
