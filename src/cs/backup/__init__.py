"""Backups of a data folder: made next to a running service, checked, restored."""
