"""Forgetting people: one who asks for it, and all of a lookup that is too old."""
