"""The directory in memory, as it is in a file: for tests."""

from datetime import date

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.sqlite import SqliteDirectory
from cs.directory.store import DirectoryUnavailable, IndexEntries
from cs.sources.people_directory.source import places_of

_ALL = frozenset(DirectoryPerson.__struct_fields__)


class MemoryDirectory(SqliteDirectory):
    def __init__(self, key: bytes) -> None:
        super().__init__(None, lambda: key)

    async def add(self, full_name: str, as_of: date, **fields: str) -> None:
        """Put a person in it, as an import does."""
        person = DirectoryPerson(full_name=full_name, as_of=as_of, **fields)
        entries = IndexEntries(places_of(person), ("00" * 32,))
        await self.put([DirectoryRow(person, _ALL)], lambda _: entries)


class AwayDirectory(MemoryDirectory):
    """One whose disk is full."""

    async def look(self) -> bool:
        raise DirectoryUnavailable("the disk is full")
