"""The directory in memory, as it is in a file: for tests."""

from cs.directory.sqlite import SqliteDirectory


class MemoryDirectory(SqliteDirectory):
    def __init__(self, key: bytes) -> None:
        super().__init__(None, lambda: key)
