"""What can go wrong with a world."""


class WorldError(Exception):
    """The file is no world: the message names the file, the place and what is allowed."""
