"""What was asked for a list and what came of it, on disk before anything follows from it.

One JSON object a line, each flushed to the disk.  It is the truth about a list; the file
of results is made from it.
"""

import fcntl
import os
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from cs.cli.list_rows import Row
from cs.client import Done, Failed, Other

#: A server knows an idempotency key for 24 hours (CONTRACT.md L14); one hour to spare.
KNOWN_FOR = timedelta(hours=23)


class BadJournal(Exception):
    """The journal cannot be used for this list."""


class _Entry(msgspec.Struct, frozen=True, tag_field="kind"):
    pass


class Begun(_Entry, frozen=True, tag="begun"):
    """The list was begun with this server and key, told by a hash of both.

    *place* is where the list was then: idempotency keys are made of it, so that they stay the
    same when list and journal move together, or when the journal is lost.
    """

    identity: str
    place: str = ""


class Asked(_Entry, frozen=True, tag="asked"):
    """*key* is about to be asked for: from here on it may have been charged."""

    key: str
    at: datetime


class Started(_Entry, frozen=True, tag="started"):
    key: str
    search: str


class Refused(_Entry, frozen=True, tag="refused"):
    """The service said that nothing was done."""

    key: str


class Again(_Entry, frozen=True, tag="again"):
    """*key* has ended and is to be searched anew, as another wish."""

    key: str


class Trouble(msgspec.Struct, frozen=True):
    """An error instead of a search."""

    code: str
    status: int
    message: str


class Ended(_Entry, frozen=True, tag="ended"):
    """*row* is finished: with how its search ended, or with an error that will not change."""

    key: str
    row: Row
    search: Done | Failed | None = None
    other: Other | None = None
    error: Trouble | None = None


Entry = Begun | Asked | Started | Refused | Again | Ended
_decoder = msgspec.json.Decoder(Entry)


class Journal:
    """Use as ``with``: *path* is ours alone until then.

    Args:
        path: Made if need be.
        identity: Of server and key.
        place: Where the list is; `place` is where it was begun.

    Raises:
        BadJournal: It is of another key or server, in use, or unreadable.
    """

    def __init__(self, path: Path, identity: str, place: str) -> None:
        self.place = place
        self.asked: dict[str, datetime] = {}
        self.started: dict[str, str] = {}
        self.ended: dict[str, Ended] = {}
        self._times: dict[str, int] = {}
        self._file = path.open("a+b")
        try:
            self._take(path, Begun(identity, place))
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

    def note(self, entry: Entry) -> None:
        """Store *entry*; when this returns, the disk has it."""
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._know(entry)

    def idempotency_key(self, key: str) -> str:
        """Return what *key* is asked for with: another one each time it is asked anew."""
        times = self._times.get(key, 0)
        return f"{key}-{times}" if times else key

    def in_doubt(self, key: str, at: datetime) -> bool:
        """Return whether *key* was asked for so long ago that asking may charge again."""
        asked_at = self.asked.get(key)
        return asked_at is not None and key not in self.started and at - asked_at >= KNOWN_FOR

    def _take(self, path: Path, ours: Begun) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadJournal(f"another command is searching this list ({path})") from error
        self._file.seek(0)
        data = self._file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._file.truncate(len(whole))  # a line that a crash cut was followed by nothing
        begun = None
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadJournal(f"{path}, line {number} is no entry: {error}") from error
            begun = begun or entry
            self._know(entry)
        unused = not (self.asked or self.started or self.ended or self._times)
        if unused:
            self._file.truncate(0)  # nothing came of what was begun, perhaps with another key
            self.note(ours)
        elif not isinstance(begun, Begun) or begun.identity != ours.identity:
            raise BadJournal(
                f"{path} was begun with another key or server; use that one, "
                "or other --results to begin anew"
            )
        else:
            self.place = begun.place or self.place

    def _know(self, entry: Entry) -> None:
        match entry:
            case Asked(key=key, at=at):
                self.asked[key] = at
            case Started(key=key, search=search):
                self.started[key] = search
            case Refused(key=key):
                self.asked.pop(key, None)
            case Ended(key=key):
                self.ended[key] = entry
            case Again(key=key):
                for known in (self.asked, self.started, self.ended):
                    known.pop(key, None)
                self._times[key] = self._times.get(key, 0) + 1
            case Begun():
                pass
