"""Backups of a data folder: made beside a running service, checked, brought back."""
