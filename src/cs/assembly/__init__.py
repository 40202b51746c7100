"""Puts the service together from settings: the one package that names adapters."""
