"""The journal of a list: what was asked for each row and what came of it; and its results.

One JSON object a line, each on the disk before anything follows from it; the last line of a
row counts.  The file of results is made from it.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cs.cli.brand_list import BadList, Row
from cs.cli.output import as_csv, json_line
from cs.cli.search_record import COLUMNS, rows
from cs.client import Client, Done, Failed, NotFound, Other
from cs.client.retries import KEY_KNOWN_S
from cs.runtime.private_files import open_private

#: How long a server is sure to know an idempotency key.
KNOWN_FOR = timedelta(seconds=KEY_KNOWN_S)
#: A request further in the future than clocks differ was made by a clock that was set back,
#: so its age is not known.
_AHEAD = timedelta(minutes=5)


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
        asked_at: When it was first asked for; it may have been charged since then.
        row: As it was asked for: an idempotency key belongs to the brand as it was written
            then (contract L14).  Once it is finished: as it is in the list.
        search: Id of its search, once it has one.
        times: How often it was reset, to be searched again with another idempotency key.
        found, other, error: How it was finished, one of the three.
    """

    key: str
    asked_at: datetime | None = None
    row: Row | None = None
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


def _entries(data: bytes) -> Iterator[ListOwner | RowState]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadList(f"line {number} is no entry: {error}") from error


class Journal(AbstractContextManager["Journal"]):
    """The journal at *path*, made if need be, locked until left; use as ``with``.

    Args:
        path: Its file.
        identity: Server and key, hashed, of a list that is begun.
        place: Where such a list is.

    Attributes:
        owner: The list's.
        rows: The state of each row, by key.

    Raises:
        BadList: It is in use, or unreadable.
    """

    def __init__(self, path: Path, identity: str, place: str) -> None:
        self.owner = ListOwner(identity, place)
        self.rows: dict[str, RowState] = {}
        self._last_search = ""
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

    def check_owner(self, identity: str, client: Client, *, ask_again: bool) -> None:
        """Check that the list may go on with the server and key of *identity*.

        A rotated secret and a moved server are recognized by the last search, which no other
        key can read (contract S17, H11); there the idempotency keys are known as well.  Where
        no search is known, only unanswered rows can be charged twice, which *ask_again*
        allows.

        Raises:
            BadList: It belongs to another key or server.
            ClientError: The last search could not be read.
        """
        if self.owner.identity == identity:
            return
        other = "the list was begun with another key or server"
        doubtful = sum(each.is_unanswered for each in self.rows.values())
        if self._last_search:
            try:
                known = client.contacts.get(self._last_search).id == self._last_search
            except NotFound:
                known = False
            if not known:
                raise BadList(
                    f"{other}: this one does not know its search {self._last_search!r}; "
                    "use that one, or other --results and --again to begin again"
                )
        elif doubtful and not ask_again:
            raise BadList(
                f"{other}, and all answers were lost; use that one, or --ask-again to ask "
                f"this one, which may charge {doubtful} brands twice"
            )
        self.put(replace(self.owner, identity=identity))

    def _lock_and_read(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadList(f"another command is searching this list ({path})") from error
        begun = self.owner
        self._file.seek(0)
        data = self._file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._file.truncate(len(complete))  # a line that a crash cut was followed by nothing
        try:
            for entry in _entries(complete):
                self._apply(entry)
        except BadList as error:
            raise BadList(f"{path}, {error}") from error
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
            self._last_search = entry.search or self._last_search


def hashed(*texts: str) -> str:
    """Return what stands for *texts* in a journal.

    The key of a row is made of the list's place and the row's query, not of its line, so that
    rows may come and go between two runs.
    """
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()[:40]


def searched_before(path: Path, rows: Iterable[Row], place: str) -> int:
    """Return how many of *rows* the journal at *path* has asked for, of the list at *place*.

    0 if it is of another list, or cannot be read.
    """
    try:
        entries = list(_entries(path.read_bytes()))
    except (OSError, BadList):
        return 0
    if not any(isinstance(each, ListOwner) and each.place == place for each in entries):
        return 0
    states = {each.key: each for each in entries if isinstance(each, RowState)}
    asked = {key for key, state in states.items() if state.asked_at or state.is_finished}
    return sum(hashed(place, *row.query) in asked for row in rows)


def is_json(path: Path) -> bool:
    """Return whether results at *path* are lines of JSON; else they are CSV."""
    return path.suffix in {".jsonl", ".json"}


class Results(AbstractContextManager["Results"]):
    """The results at *path*; use as ``with``.  An older file is replaced, all or nothing.

    Args:
        path: Its file; its name says whether it is CSV, a line a person, or JSON, a line a
            brand.
        finished: Rows that are finished already.
    """

    def __init__(self, path: Path, finished: Iterable[RowState]) -> None:
        self._json = is_json(path)
        new_path = path.with_name(f"{path.name}.new")
        with open_private(new_path, "wb") as new:
            if not self._json:
                new.write(as_csv([("row", "asked_brand", "asked_domain", "error", *COLUMNS)]))
            new.writelines(map(self._encoded, finished))
            new.flush()
            os.fsync(new.fileno())
        new_path.replace(path)
        self._file = path.open("ab")

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, finished: RowState) -> None:
        self._file.write(self._encoded(finished))
        self._file.flush()

    def _encoded(self, state: RowState) -> bytes:
        row, search, error = state.row, state.found or state.other, state.error
        assert row is not None, "a row is finished with its line"
        if self._json:
            asked = {"row": row.number, "brand": row.brand, "domain": row.domain}
            came = {"search": search} if error is None else {"error": error}
            return json_line(asked | came)
        problem = "" if error is None else f"{error.code}: {error.message}"
        ahead = [str(row.number), row.brand or "", row.domain or "", problem]
        people = rows(search) if search is not None else [[""] * len(COLUMNS)]
        return as_csv([*ahead, *cells] for cells in people)
