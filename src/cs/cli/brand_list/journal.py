"""The journal of a list: what was asked for each row and what came of it.

One JSON object a line, each on the disk before anything follows from it; the last line of a
row counts.  It is the truth about a list; the file of results is made from it.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cs.cli.brand_list.rows import Row
from cs.client import Client, Done, Failed, NotFound, Other
from cs.client.retries import KEY_KNOWN_S
from cs.runtime.private_files import open_private

#: How long a server is sure to know an idempotency key.
KNOWN_FOR = timedelta(seconds=KEY_KNOWN_S)
#: A request further in the future than clocks differ was made by a clock that was set back,
#: so its age is not known.
_AHEAD = timedelta(minutes=5)


class BadJournal(Exception):
    """The journal cannot be used for this list."""


class ListOwner(msgspec.Struct, frozen=True, tag_field="kind", tag="list"):
    """The key and server that the list belongs to, hashed, and where the list was begun.

    Idempotency keys are made of *place*, so that they stay the same when list and journal
    move together, or when the journal is lost.
    """

    identity: str
    place: str


class RowError(msgspec.Struct, frozen=True):
    """An error instead of a search, which will not change."""

    code: str
    status: int
    message: str


class RowState(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="row"):
    """What is known of one row.

    Attributes:
        asked_at: When it was asked for last; it may have been charged since then.
        row: As it was asked for: an idempotency key belongs to the brand as it was written
            then (contract L14).  Once it is finished: as it is in the list.
        lost: Number of requests that something else than the service answered.
        search: Id of its search, once it has one.
        times: How often it was reset, to be searched again with another idempotency key.
        found, other, error: How it was finished, one of the three.
    """

    key: str
    asked_at: datetime | None = None
    row: Row | None = None
    lost: int = 0
    search: str = ""
    times: int = 0
    found: Done | Failed | None = None
    other: Other | None = None
    error: RowError | None = None

    @property
    def idempotency_key(self) -> str:
        return f"{self.key}-{self.times}" if self.times else self.key

    @property
    def is_finished(self) -> bool:
        return bool(self.found or self.other or self.error)

    @property
    def is_unanswered(self) -> bool:
        return self.asked_at is not None and not self.search and not self.is_finished

    def is_known(self, at: datetime) -> bool:
        """Return whether the service is sure to know the idempotency key, if it got it."""
        return self.asked_at is not None and -_AHEAD <= at - self.asked_at < KNOWN_FOR

    def in_doubt(self, at: datetime) -> bool:
        """Return whether asking again may charge again."""
        return self.is_unanswered and not self.is_known(at)


_decoder = msgspec.json.Decoder(ListOwner | RowState)


class Journal(AbstractContextManager["Journal"]):
    """The journal at *path*, made if need be, locked until left; use as ``with``.

    Args:
        path: Its file.
        identity: Server and key, hashed, of a list that is begun.
        place: Where such a list is.

    Attributes:
        owner: The list's.
        rows: The state of each row, by key.
        last_search: Id of the search seen last; empty if there is none.

    Raises:
        BadJournal: It is in use, or unreadable.
    """

    def __init__(self, path: Path, identity: str, place: str) -> None:
        self.owner = ListOwner(identity, place)
        self.rows: dict[str, RowState] = {}
        self.last_search = ""
        self._file = open_private(path, "a+b")
        try:
            self._lock_and_read(path)
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, key: str) -> RowState:
        return self.rows.get(key) or RowState(key=key)

    def put(self, entry: ListOwner | RowState) -> None:
        """Store *entry*; when this returns, the disk has it."""
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._apply(entry)

    def key_of(self, row: Row) -> str:
        """Return the key of *row*, the same for all rows of a list that ask the same.

        It does not depend on the line, so that rows may come and go between two runs.
        """
        return hashed("\0".join((self.owner.place, *row.wish)))

    def check_owner(self, identity: str, client: Client, *, ask_again: bool) -> None:
        """Check that the list may go on with the server and key of *identity*.

        A rotated secret and a moved server are recognized by the last search, which no other
        key can read (contract S17, H11); there the idempotency keys are known as well.  Where
        no search is known, only unanswered rows can be charged twice, which *ask_again*
        allows.

        Raises:
            BadJournal: It belongs to another key or server.
            ClientError: The last search could not be read.
        """
        if self.owner.identity == identity:
            return
        other = "the list was begun with another key or server"
        doubtful = sum(each.is_unanswered for each in self.rows.values())
        if self.last_search:
            try:
                known = client.contacts.get(self.last_search).id == self.last_search
            except NotFound:
                known = False
            if not known:
                raise BadJournal(
                    f"{other}: this one does not know its search {self.last_search!r}; "
                    "use that one, or other --results and --again to begin anew"
                )
        elif doubtful and not ask_again:
            raise BadJournal(
                f"{other}, and all answers were lost; use that one, or --ask-again to ask "
                f"this one, which may charge {doubtful} brands twice"
            )
        self.put(replace(self.owner, identity=identity))

    def _lock_and_read(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadJournal(f"another command is searching this list ({path})") from error
        begun = self.owner
        self._file.seek(0)
        data = self._file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._file.truncate(len(complete))  # a line that a crash cut was followed by nothing
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                self._apply(_decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise BadJournal(f"{path}, line {number} is no entry: {error}") from error
        if all(state == RowState(key=key) for key, state in self.rows.items()):
            # Nothing came of a list that was begun, perhaps with another key.
            self._file.truncate(0)
            self.rows.clear()
            self.put(begun)

    def _apply(self, entry: ListOwner | RowState) -> None:
        if isinstance(entry, ListOwner):
            self.owner = entry
        else:
            self.rows[entry.key] = entry
            self.last_search = entry.search or self.last_search


def searched_before(path: Path, rows: Iterable[Row], place: str) -> int:
    """Return how many of *rows* the journal at *path* has asked for, of the list at *place*.

    0 if it is of another list, or cannot be read.
    """
    try:
        entries = [_decoder.decode(line) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return 0
    if place not in {each.place for each in entries if isinstance(each, ListOwner)}:
        return 0
    states = {each.key: each for each in entries if isinstance(each, RowState)}
    asked = {key for key, state in states.items() if state.asked_at or state.is_finished}
    return sum(hashed("\0".join((place, *row.wish))) in asked for row in rows)


def hashed(text: str) -> str:
    """Return what stands for *text* in a journal."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:40]
