"""The stages of a lookup: their table, the work and findings that travel, and their limits."""
