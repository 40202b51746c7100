"""Verifiers that come with the service, and what runs any verifier safely."""
