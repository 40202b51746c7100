"""One live run on a brand: what is remembered of it, its rules, the contacts it shows."""
