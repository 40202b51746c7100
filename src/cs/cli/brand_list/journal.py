"""What was requested for a list and what came of it, on disk before anything follows from it.

One JSON object a line, each flushed to the disk.  It is the truth about a list; the file
of results is made from it.
"""

import fcntl
import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from cs.cli.brand_list.entries import (
    AnswerLost,
    Entry,
    ListBegun,
    OwnerChanged,
    RowFinished,
    RowRefused,
    RowRequested,
    RowReset,
    SearchStarted,
    decode,
    encode,
)
from cs.cli.brand_list.rows import Row
from cs.runtime.private_files import open_private


class BadJournal(Exception):
    """The journal cannot be used for this list."""


class Journal:
    """The journal at *path*, locked until left; use as ``with``.

    Args:
        path: Made if need be.
        identity: Of server and key, for a list that is begun.
        place: Where the list is, for one that is begun.

    Attributes:
        identity: Of server and key that the list goes on with.
        place: Where the list was begun.
        requested: What may have been charged, or has ended.
        started: Ids of searches.
        finished: How each row ended that has.
        lost: How often what was requested was not answered by the service.
        last_search: Id of the search seen last; empty if there is none.

    Raises:
        BadJournal: It is in use, or unreadable.
    """

    def __init__(self, path: Path, identity: str, place: str) -> None:
        self.identity = ""
        self.place = place
        self.requested: dict[str, RowRequested] = {}
        self.started: dict[str, str] = {}
        self.finished: dict[str, RowFinished] = {}
        self.lost: Counter[str] = Counter()
        self.last_search = ""
        self._times: dict[str, int] = {}
        self._file = open_private(path, "a+b")
        try:
            self._lock_and_read(path, ListBegun(identity, place))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def append(self, entry: Entry) -> None:
        """Store *entry*; when this returns, the disk has it."""
        self._file.write(encode(entry))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._apply(entry)

    def key_of(self, row: Row) -> str:
        """Return the key of *row*, the same for all rows of a list that ask the same.

        It does not go by the line, so that rows may come and go between two runs.
        """
        return hashed("\0".join((self.place, *row.wish)))

    def idempotency_key(self, key: str) -> str:
        """Return what *key* is asked for with: another one each time it is asked anew."""
        times = self._times.get(key, 0)
        return f"{key}-{times}" if times else key

    def in_doubt(self, key: str, at: datetime) -> bool:
        """Return whether *key* was asked for so long ago that asking may charge again."""
        request = self.requested.get(key)
        return request is not None and key not in self.started and not request.is_known(at)

    def _lock_and_read(self, path: Path, begun: ListBegun) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadJournal(f"another command is searching this list ({path})") from error
        self._file.seek(0)
        data = self._file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._file.truncate(len(complete))  # a line that a crash cut was followed by nothing
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                entry = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadJournal(f"{path}, line {number} is no entry: {error}") from error
            self._apply(entry)
        unused = not (self.requested or self.started or self.finished or self._times)
        if unused:
            self._file.truncate(0)  # nothing came of what was begun, perhaps with another key
            self.append(begun)

    def _apply(self, entry: Entry) -> None:
        match entry:
            case RowRequested(key=key):
                self.requested[key] = entry
            case AnswerLost(key=key):
                self.lost[key] += 1
            case SearchStarted(key=key, search=search):
                self.started[key] = self.last_search = search
            case RowRefused(key=key):
                self.requested.pop(key, None)
                self.lost.pop(key, None)
            case RowFinished(key=key, search=search, other=other):
                self.finished[key] = entry
                ended = search or other
                self.last_search = ended.id if ended is not None else self.last_search
            case RowReset(key=key):
                for known in (self.requested, self.started, self.finished, self.lost):
                    known.pop(key, None)
                self._times[key] = self._times.get(key, 0) + 1
            case ListBegun(identity=identity, place=place):
                self.identity = identity
                self.place = place or self.place
            case OwnerChanged(identity=identity):
                self.identity = identity


def searched_before(path: Path, rows: Iterable[Row], place: str) -> int:
    """Return how many of *rows* the journal at *path* has asked for, of the list at *place*.

    0 for one that is of another list, or cannot be read.
    """
    try:
        entries = [decode(line) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return 0
    if place not in {each.place for each in entries if isinstance(each, ListBegun)}:
        return 0
    keys = {each.key for each in entries if isinstance(each, RowRequested | RowFinished)}
    return sum(hashed("\0".join((place, *row.wish))) in keys for row in rows)


def hashed(text: str) -> str:
    """Return what stands for *text* in a journal."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:40]
