"""Errors before anything is served."""


class CannotListen(Exception):
    """The address cannot be had; the message says why and what to do."""
