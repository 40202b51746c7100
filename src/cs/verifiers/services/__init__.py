"""Verifiers that ask a service over HTTP, a module each: its shapes, and what they mean."""
