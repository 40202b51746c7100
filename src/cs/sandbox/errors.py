"""Errors of world files."""


class WorldError(Exception):
    """The file is not a world; the message names the file and the place."""
