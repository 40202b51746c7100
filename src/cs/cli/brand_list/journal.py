"""What was asked for a list and what came of it, on disk before anything follows from it.

One JSON object a line, each flushed to the disk.  It is the truth about a list; the file
of results is made from it.
"""

import fcntl
import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from cs.cli.brand_list.rows import Row
from cs.client import Done, Failed, Other
from cs.client.retries import KEY_KNOWN_S
from cs.runtime.private_files import open_private

#: How long a server surely knows an idempotency key.
KNOWN_FOR = timedelta(seconds=KEY_KNOWN_S)
#: What was asked for later than now was asked for by another clock, or by this one before it
#: was set back: who knows when.  Clocks that are kept differ by less.
_AHEAD = timedelta(minutes=5)


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


class Moved(_Entry, frozen=True, tag="moved"):
    """The list goes on with this server and key, as `Begun` tells them."""

    identity: str


class Asked(_Entry, frozen=True, tag="asked"):
    """*key* is about to be asked for: from here on it may have been charged.

    It is asked for again as *row* says it, whatever the list says by then: an idempotency
    key belongs to the brand as it was written (contract L14).
    """

    key: str
    at: datetime
    row: Row | None = None

    def is_known(self, at: datetime) -> bool:
        """Return whether the service surely knows the idempotency key *at*, if it was told."""
        return -_AHEAD <= at - self.at < KNOWN_FOR


class Lost(_Entry, frozen=True, tag="lost"):
    """What came for *key*, if anything, was no answer of the service."""

    key: str


class Started(_Entry, frozen=True, tag="started"):
    key: str
    search: str


class Refused(_Entry, frozen=True, tag="refused"):
    """Nothing was ever done for *key*: it was asked for once, or is not known."""

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


Entry = Begun | Moved | Asked | Lost | Started | Refused | Again | Ended
_decoder = msgspec.json.Decoder(Entry)


class Journal:
    """Use as ``with``: *path* is ours alone until then.

    Args:
        path: Made if need be.
        identity: Of server and key, for a list that is begun.
        place: Where the list is, for one that is begun.

    Attributes:
        identity: Of server and key that the list goes on with.
        place: Where the list was begun.
        asked: What may have been charged, or has ended.
        started: Ids of searches.
        ended: What is finished.
        lost: How often what was asked was not answered by the service.
        search: Id of the search last heard of; empty if there is none.

    Raises:
        BadJournal: It is in use, or unreadable.
    """

    def __init__(self, path: Path, identity: str, place: str) -> None:
        self.identity = ""
        self.place = place
        self.asked: dict[str, Asked] = {}
        self.started: dict[str, str] = {}
        self.ended: dict[str, Ended] = {}
        self.lost: Counter[str] = Counter()
        self.search = ""
        self._times: dict[str, int] = {}
        self._file = open_private(path, "a+b")
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

    def key_of(self, row: Row) -> str:
        """Return the name of *row*: the same for the same wish of the list begun at `place`.

        It does not go by the line, so that rows may come and go between two runs.
        """
        return hashed("\0".join((self.place, *row.wish)))

    def idempotency_key(self, key: str) -> str:
        """Return what *key* is asked for with: another one each time it is asked anew."""
        times = self._times.get(key, 0)
        return f"{key}-{times}" if times else key

    def in_doubt(self, key: str, at: datetime) -> bool:
        """Return whether *key* was asked for so long ago that asking may charge again."""
        asked = self.asked.get(key)
        return asked is not None and key not in self.started and not asked.is_known(at)

    def _take(self, path: Path, ours: Begun) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadJournal(f"another command is searching this list ({path})") from error
        self._file.seek(0)
        data = self._file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._file.truncate(len(whole))  # a line that a crash cut was followed by nothing
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadJournal(f"{path}, line {number} is no entry: {error}") from error
            self._know(entry)
        unused = not (self.asked or self.started or self.ended or self._times)
        if unused:
            self._file.truncate(0)  # nothing came of what was begun, perhaps with another key
            self.note(ours)

    def _know(self, entry: Entry) -> None:
        match entry:
            case Asked(key=key):
                self.asked[key] = entry
            case Lost(key=key):
                self.lost[key] += 1
            case Started(key=key, search=search):
                self.started[key] = self.search = search
            case Refused(key=key):
                self.asked.pop(key, None)
                self.lost.pop(key, None)
            case Ended(key=key, search=search, other=other):
                self.ended[key] = entry
                known = search or other
                self.search = known.id if known is not None else self.search
            case Again(key=key):
                for told in (self.asked, self.started, self.ended, self.lost):
                    told.pop(key, None)
                self._times[key] = self._times.get(key, 0) + 1
            case Begun(identity=identity, place=place):
                self.identity = identity
                self.place = place or self.place
            case Moved(identity=identity):
                self.identity = identity


def searched_before(path: Path, rows: Iterable[Row], place: str) -> int:
    """Return how many of *rows* the journal at *path* has asked for, of the list at *place*.

    0 for one that is of another list, or cannot be read.
    """
    try:
        entries = [_decoder.decode(line) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return 0
    if place not in {each.place for each in entries if isinstance(each, Begun)}:
        return 0
    keys = {each.key for each in entries if isinstance(each, Asked | Ended)}
    return sum(hashed("\0".join((place, *row.wish))) in keys for row in rows)


def hashed(text: str) -> str:
    """Return what stands for *text* in a journal."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:40]
