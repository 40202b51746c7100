"""What can go wrong with a world."""


class WorldError(Exception):
    """The file is no world: the message names the file and the place."""
