"""The stages of a lookup, what runs them, and what records and drives their work."""
