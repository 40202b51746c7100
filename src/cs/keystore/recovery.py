"""The key store's memory of the log, by which a log restored from a backup is recognised.

The key store is another file or database than the log and is restored by itself.  It remembers
how far the log was, and each erasure.  Nothing in it is personal: a person is a keyed hash.

Erasures may also be written to a file elsewhere (setting ``erasure_journal``), for the case
that log and keys are both restored: one JSON object a line, only ever appended to.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from structlog import get_logger

from cs.keystore.port import KeysUnavailable
from cs.runtime.private_files import open_private
from cs.runtime.sql import Database

log = get_logger()

#: Names of data keys that are read at once.
PAGE = 10_000
#: Time limit of one use of the file of erasures, which may be on another machine.
JOURNAL_S = 10.0
T = TypeVar("T")


class JournalUnavailable(KeysUnavailable):
    """The file of erasures cannot be read or written; nothing is wrong with the key store."""


class LogMark(msgspec.Struct, frozen=True):
    """How far the log was when a process last looked.

    Attributes:
        epoch: Counts the histories: one more each time a restored log was accepted.
        event: The name of the event at that position (`cs.projections.views.named`).
        seen_at: When, in ISO 8601.
    """

    epoch: int
    position: int
    event: str
    seen_at: str


class ErasureEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One erasure, or one lifted suppression; the fields are those of `Erasure.erase`.

    Attributes:
        id: Names the person's stream, a keyed hash.
        names: Data keys of the person that may be indexed under no print.
    """

    id: str
    at: datetime
    prints: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    lifted: bool = False


class RecoveryRecord:
    """The mark and the erasures in *database*, whose tables are those of a key store.

    Args:
        database: Of the key store.
        journal: A file that gets every erasure as well.

    Raises:
        KeysUnavailable: From every method: the database or the file is away, or damaged.
    """

    def __init__(self, database: Database, journal: Path | None = None) -> None:
        self._database = database
        self.journal = journal

    # The mark.

    async def mark(self) -> LogMark | None:
        """Return how far the log was; ``None`` if no process has looked yet."""
        found = await self._database.fetch(_MARK)
        return LogMark(*found[0]) if found else None

    async def advance(self, mark: LogMark) -> None:
        """Remember *mark*, if it is the first, or later than that of the same epoch."""
        row = mark.epoch, mark.position, mark.event, mark.seen_at
        await self._database.fetch(_BEGIN, *row)
        await self._database.fetch(_ADVANCE, *row)

    async def accept(self, mark: LogMark) -> None:
        """Remember *mark* in the place of any other: its epoch begins."""
        await self._database.fetch(_ACCEPT, mark.epoch, mark.position, mark.event, mark.seen_at)

    # Erasures.

    async def note(self, entries: Iterable[ErasureEntry]) -> None:
        """Remember *entries*, durable on return, before anything is erased.

        The file comes second: an entry that only it has means that the key store is older.
        """
        new = list(entries)
        await self.keep(new)
        await self._append(new)

    async def keep(self, entries: Iterable[ErasureEntry]) -> None:
        """Store *entries*, which are in the file already, or came from one."""
        rows = [(each.id, each.at.isoformat(), _text(each)) for each in entries]
        await self._database.fetch_many(_NOTE, rows)

    async def erasures(self) -> Sequence[ErasureEntry]:
        """Return every entry of the key store, the earliest first."""
        rows = await self._database.fetch(_ERASURES)
        return [msgspec.json.decode(entry, type=ErasureEntry) for (entry,) in rows]

    async def unknown_erasures(self) -> Sequence[ErasureEntry]:
        """Return the entries of the file that the key store lacks: it is older than they."""
        if self.journal is None:
            return ()
        known = set(await self.erasures())
        written = await _in_time(read_journal, self.journal)
        return [each for each in written if each not in known]

    async def compare_journal(self) -> Sequence[ErasureEntry]:
        """Append the entries that the file lacks; return those that the key store lacks.

        A file that is away is logged, and is no error; a damaged one is.
        """
        if self.journal is None:
            return ()
        known, written = await self.erasures(), set[ErasureEntry]()
        try:
            written.update(await _in_time(read_journal, self.journal))
            await self._append([each for each in known if each not in written])
        except JournalUnavailable as error:
            if isinstance(error.__cause__, (msgspec.MsgspecError, UnicodeDecodeError)):
                raise
            log.error("erasure_journal_unavailable", why=str(error))  # noqa: TRY400
        return sorted(written.difference(known), key=lambda each: each.at)

    async def _append(self, entries: Sequence[ErasureEntry]) -> None:
        if self.journal is not None and entries:
            lines = b"".join(msgspec.json.encode(each) + b"\n" for each in entries)
            await _in_time(_append, self.journal, lines)

    # Data keys.

    async def names(self) -> AsyncIterator[Sequence[str]]:
        """Yield the names of all data keys, destroyed ones included, in pages."""
        after = ""
        while page := [name for (name,) in await self._database.fetch(_NAMES, after, PAGE)]:
            yield page
            after = page[-1]


async def _in_time(act: Callable[..., T], file: Path, *arguments: object) -> T:
    """Run *act* on *file* in a thread.

    Raises:
        JournalUnavailable: It takes longer than `JOURNAL_S`, or as *act*.
    """
    try:
        async with asyncio.timeout(JOURNAL_S):
            return await asyncio.to_thread(act, file, *arguments)
    except TimeoutError as error:
        raise JournalUnavailable(
            f"erasure_journal: {file} did not answer within {JOURNAL_S:g} s"
        ) from error


def read_journal(file: Path) -> Sequence[ErasureEntry]:
    """Return the entries in *file*; none if it was not made yet.

    Raises:
        JournalUnavailable: It cannot be read, or a line of it is damaged.
    """
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise JournalUnavailable(f"erasure_journal: {file}: {error.strerror}") from error
    lines.pop()  # empty, or cut off while it was written: that erasure had not begun
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(msgspec.json.decode(line, type=ErasureEntry))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise JournalUnavailable(
                f"erasure_journal: line {number} of {file} is damaged: {error}; bring it back "
                "from a copy, or remove a line without its end: its erasure had not begun"
            ) from error
    return found


def _append(file: Path, lines: bytes) -> None:
    """Append *lines* to *file* (mode 0600) in one write, durably."""
    try:
        with open_private(file, "ab+", buffering=0) as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            size = opened.seek(0, os.SEEK_END)
            if size and os.pread(opened.fileno(), 1, size - 1) != b"\n":
                opened.seek(0)
                size = opened.read().rfind(b"\n") + 1
                opened.truncate(size)  # a line that was cut off
            written = opened.write(lines)
            if whole := written == len(lines):
                os.fsync(opened.fileno())
            else:
                opened.truncate(size)
    except OSError as error:
        raise JournalUnavailable(
            f"erasure_journal: {file} cannot be written: {error.strerror}"
        ) from error
    if not whole:
        raise JournalUnavailable(f"erasure_journal: {file} cannot be written: the disk is full")


def _text(entry: ErasureEntry) -> str:
    return msgspec.json.encode(entry).decode()


_MARK = "SELECT epoch, position, event, seen_at FROM log_mark"
_BEGIN = "INSERT INTO log_mark VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING"
_ADVANCE = """
UPDATE log_mark SET position = $2, event = $3, seen_at = $4 WHERE epoch = $1 AND position < $2
"""
_ACCEPT = """
INSERT INTO log_mark VALUES (1, $1, $2, $3, $4) ON CONFLICT (one) DO UPDATE SET
    epoch = excluded.epoch, position = excluded.position,
    event = excluded.event, seen_at = excluded.seen_at
"""
_NOTE = "INSERT INTO erasure VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
_ERASURES = "SELECT entry FROM erasure ORDER BY at, id"
_NAMES = "SELECT name FROM data_key WHERE name > $1 ORDER BY name LIMIT $2"
