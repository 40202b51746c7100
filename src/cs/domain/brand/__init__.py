"""A brand's stream: its lookups, one alive at a time, and what they found."""
