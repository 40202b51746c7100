"""The keys that personal values are sealed with; a destroyed one is what erases a person."""
