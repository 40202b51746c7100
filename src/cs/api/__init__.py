"""HTTP under `/v1`: what callers may ask, and how they are answered."""
