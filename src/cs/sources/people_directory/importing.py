"""Importing a file of people into the directory: batch by batch, whatever is wrong told."""

import sqlite3
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from hashlib import blake2b
from secrets import token_bytes
from typing import Protocol

import msgspec

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.port import IndexEntries, PeopleDirectory
from cs.runtime.table_text import is_hopeless
from cs.sources.people_directory.people_rows import row_of
from cs.sources.people_directory.places import places_of
from cs.sources.tables.table_file import BadFile, TableFile

#: Rows of one transaction: what is lost when an import is stopped, and imported again.
BATCH = 5_000
_SUPPRESSED = "this person asked to be forgotten, and is left out: delete the row"


class PersonPrints(Protocol):
    """The fingerprints that erasure goes by."""

    def of(self, person: DirectoryPerson) -> tuple[str, ...]:
        """Return those of *person*, the one that says who it is first."""

    async def suppressed(self, prints: frozenset[str]) -> frozenset[str]:
        """Return those of *prints* whose people asked to be forgotten."""


class ImportCounts(msgspec.Struct):
    """What an import came to, in rows.

    Attributes:
        repeated: Of somebody whom an earlier row of the file tells of: that one counts.
        suppressed: Of people who asked to be forgotten.
        refused: With something wrong that was told.
    """

    rows: int = 0
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    suppressed: int = 0
    refused: int = 0


class Importing:
    """One import.

    Args:
        directory: Where people are put.
        prints: By which they are erased.
        today: Of which they are known unless the file says so.
        oldest: Who is known of an earlier day is refused.
        dated: The file is of that day, also for people who are known already.
        dry_run: Only say what would change.
        told: Hears of each row that is not taken: its line, and why.
        shown: Hears how far it is.

    Attributes:
        counts: What it came to until now.
    """

    def __init__(
        self,
        directory: PeopleDirectory,
        prints: PersonPrints,
        *,
        today: date,
        oldest: date,
        dated: bool = False,
        dry_run: bool = False,
        told: Callable[[int, str], object] = lambda _line, _why: None,
        shown: Callable[[ImportCounts], object] = lambda _counts: None,
    ) -> None:
        self._directory = directory
        self._prints = prints
        self._today = today
        self._oldest = oldest
        self._dated = dated
        self._dry_run = dry_run
        self._told = told
        self._shown = shown
        self.counts = ImportCounts()

    async def run(self, file: TableFile) -> None:
        """Import all of *file*; what was imported when it is stopped stays.

        Raises:
            BadFile: From some row on it cannot be read.
            DirectoryUnavailable, KeysUnavailable: Run it again; it goes on.
        """
        batch: list[tuple[int, DirectoryRow]] = []
        for numbered in self._good_rows(file):
            batch.append(numbered)
            if len(batch) == BATCH:
                await self._put(batch)
                batch = []
        await self._put(batch)

    def _good_rows(self, file: TableFile) -> Iterator[tuple[int, DirectoryRow]]:
        seen = _SeenPeople()
        parse = partial(row_of, today=self._today, oldest=self._oldest)
        for line, row in file.read(parse):
            self.counts.rows += 1
            if isinstance(row, str):
                self.counts.refused += 1
                self._told(line, row)
                if is_hopeless(self.counts.rows, self.counts.refused):
                    raise BadFile(f"nearly all of its {self.counts.rows} rows are bad: {row}")
                continue
            first = seen.first_line(row.person.known_as, line)
            if first != line:
                self.counts.repeated += 1
                self._told(line, f"the same person as in line {first}, which counts")
                continue
            dated = DirectoryRow(row.person, row.given | {"as_of"}) if self._dated else row
            yield line, dated

    async def _put(self, batch: list[tuple[int, DirectoryRow]]) -> None:
        prints = {line: self._prints.of(row.person) for line, row in batch}
        every = frozenset[str]().union(*prints.values())
        known = {row.person: prints[line] for line, row in batch}
        gone = await self._prints.suppressed(every)
        for line in (line for line, of in prints.items() if gone.intersection(of)):
            self.counts.suppressed += 1
            self._told(line, _SUPPRESSED)
        rows = [row for line, row in batch if not gone.intersection(prints[line])]

        def index(person: DirectoryPerson) -> IndexEntries:
            return IndexEntries(places_of(person), known.get(person) or self._prints.of(person))

        changes = await self._directory.put(rows, index, dry_run=self._dry_run)
        if not self._dry_run and (late := await self._prints.suppressed(every) - gone):
            await self._directory.erase(late)  # erased between the look and the writing
        self.counts.new += changes.new
        self.counts.updated += changes.updated
        self.counts.unchanged += changes.unchanged
        self._shown(self.counts)


class _SeenPeople:
    """Who was told of in which line: keyed hashes in a file without a name, not in memory."""

    def __init__(self) -> None:
        self._key = token_bytes(32)
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE seen (who INTEGER PRIMARY KEY, line INTEGER)")
        self._db.execute("BEGIN")

    def first_line(self, known_as: str, line: int) -> int:
        """Return the first line that told of who is *known_as* that: *line*, or an earlier."""
        digest = blake2b(known_as.encode(), key=self._key, digest_size=8).digest()
        who = int.from_bytes(digest, signed=True)
        if self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (who, line)).rowcount:
            return line
        query = "SELECT line FROM seen WHERE who = ?"
        return int(self._db.execute(query, (who,)).fetchone()[0])
