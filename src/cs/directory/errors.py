"""Errors of the directory of people."""


class DirectoryUnavailable(Exception):
    """The directory cannot be read or written now; the message says why."""


class WrongDirectoryKey(DirectoryUnavailable):
    """The stored people were sealed with another key; trying again does not help."""
