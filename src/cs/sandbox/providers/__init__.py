"""The providers with a key, played: what each knows of a world, sells and charges."""
