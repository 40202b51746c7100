"""Names of people and brands: normalised, split, compared."""
