"""What can go wrong with the directory of people."""


class DirectoryUnavailable(Exception):
    """It cannot be read or written now; the message says why."""


class WrongDirectoryKey(DirectoryUnavailable):
    """Who is in it was sealed with another key; it will not pass by itself."""
