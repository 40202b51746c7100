"""The files of a search for a list: the brands, the journal of what was asked, the results.

The list is kept as people do: CSV out of a spreadsheet, or a name a line.  The journal is one
JSON object a line, each on the disk before anything follows from it; the last line of a row
counts.  The file of results is made from it.
"""

import fcntl
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import msgspec

from cs.cli.output import as_csv, json_line
from cs.cli.search_record import COLUMNS, rows
from cs.client import Done, Failed, Other
from cs.client.retries import KEY_KNOWN_S
from cs.runtime.csv_records import records
from cs.runtime.private_files import open_private

#: A larger file is no list of brands: a key's limits allow so many in years.
MAX_BYTES = 4 * 1024 * 1024
_NAMES = ("brand", "domain")


class BadList(Exception):
    """The file cannot be read as a list of brands, or not be searched as it is."""


class Row(msgspec.Struct, frozen=True):
    """One brand of the list; *number* is its line, from 1."""

    number: int
    brand: str | None
    domain: str | None

    @property
    def query(self) -> tuple[str, str]:
        """Return what is the same for rows that ask for the same."""
        return (self.brand or "").casefold(), (self.domain or "").casefold()


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of *path* that name anything, each query once, in order.

    A first line with ``brand`` or ``domain`` in it names the columns; without one they
    are brand and domain.  Commas, semicolons and tabs separate, as the first line does.
    In a ``.txt`` every line is one brand, whatever is in it; only names of columns are refused.

    Raises:
        BadList: It is no such file, or there is no brand in it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadList(f"{path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise BadList(f"{path} is larger than {MAX_BYTES // 2**20} MiB")
    rows: dict[tuple[str, str], Row] = {}
    try:
        text = data.decode("utf-8-sig")
        for row in _lines(text) if path.suffix.lower() == ".txt" else _records(text):
            rows.setdefault(row.query, row)
    except UnicodeDecodeError as error:
        raise BadList(f"{path} is not UTF-8; save it as CSV UTF-8") from error
    except BadList as error:
        raise BadList(f"{path}, {error}") from error
    if not rows:
        raise BadList(f"{path} names no brand")
    return tuple(rows.values())


def _records(text: str) -> Iterator[Row]:
    """Yield a row for each record of CSV that names anything."""
    separator = max(",;\t", key=text.partition("\n")[0].count)
    columns: dict[str, int] = {}
    for number, cells in records(io.StringIO(text, newline=""), separator):
        if isinstance(cells, str):
            raise BadList(f"line {number}: {cells}")
        words = [" ".join(cell.split()) for cell in cells]
        if not any(words):
            continue
        if not columns:
            titles = [word.casefold() for word in words]
            columns = {name: titles.index(name) for name in _NAMES if name in titles}
            if columns:
                continue
            if any(words[len(_NAMES) :]):
                raise BadList(
                    f"line {number} has {len(cells)} columns, and none is called brand or "
                    "domain; name them in the first line"
                )
            columns = {name: n for n, name in enumerate(_NAMES)}
        named = dict(enumerate(words))
        brand, domain = (named.get(columns.get(name, -1)) or None for name in _NAMES)
        if brand or domain:
            yield Row(number, brand, domain)


def _lines(text: str) -> Iterator[Row]:
    """Yield a row for each line that is not blank."""
    first = True
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        brand = " ".join(line.split())
        if first and set(_NAMES) <= set(re.split(r"\s*[,;\t ]\s*", brand.casefold())):
            raise BadList(f"line {number} names columns; a list with columns is called .csv")
        if brand:
            first = False
            yield Row(number, brand, None)


#: How long a server is sure to know an idempotency key.
KNOWN_FOR = timedelta(seconds=KEY_KNOWN_S)
#: A request further in the future than clocks differ was made by a clock that was set back,
#: so its age is not known.
_AHEAD = timedelta(minutes=5)


class RowError(msgspec.Struct, frozen=True):
    """An error instead of a search, which will not change."""

    code: str
    status: int
    message: str


class RowState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one row.

    Attributes:
        asked_at: When it was first asked for; it may have been charged since then.
        by: Server and key that were asked, hashed.
        row: As it was asked for: an idempotency key belongs to the brand as it was written
            then (contract L14).  Once it is finished: as it is in the list.
        search: Id of its search, once it has one.
        times: How often it was reset, to be searched again with another idempotency key.
        found, other, error: How it was finished, one of the three.
    """

    key: str
    asked_at: datetime | None = None
    by: str = ""
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
    def is_open(self) -> bool:
        """Whether it was asked for and is not finished."""
        return self.asked_at is not None and not self.is_finished

    def is_known(self, at: datetime, by: str) -> bool:
        """Return whether the server of *by* is sure to know it, if it was ever asked."""
        age = at - self.asked_at if self.asked_at is not None else KNOWN_FOR
        return self.by == by and (bool(self.search) or -_AHEAD <= age < KNOWN_FOR)


class Journal(AbstractContextManager["Journal"]):
    """The journal at *path*, made if need be, locked until left; use as ``with``.

    Attributes:
        place: Where the list was when it was begun.  Idempotency keys are made of it, so that
            they stay the same when list and journal move together, or the journal is lost.

    Raises:
        BadList: It is in use, or unreadable.
    """

    def __init__(self, path: Path, place: str) -> None:
        self.place = place
        self._rows: dict[str, RowState] = {}
        self._file = open_private(path, "a+b")
        try:
            self._lock_and_read(path)
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, key: str) -> RowState:
        return self._rows.get(key) or RowState(key=key)

    def finished(self) -> list[RowState]:
        return [each for each in self._rows.values() if each.is_finished]

    def put(self, state: RowState) -> None:
        """Store *state*; when this returns, the disk has it."""
        self._write(state)
        self._rows[state.key] = state

    def _write(self, entry: RowState | dict[str, str]) -> None:
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _lock_and_read(self, path: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadList(f"another command is searching this list ({path})") from error
        self._file.seek(0)
        data = self._file.read()
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        # A line that a crash cut was followed by nothing.
        self._file.truncate(sum(map(len, lines)))
        if not lines:
            self._write({"place": self.place})
        for number, line in enumerate(lines, 1):
            try:
                if number == 1:
                    self.place = msgspec.json.decode(line, type=dict[str, str])["place"]
                else:
                    state = msgspec.json.decode(line, type=RowState)
                    self._rows[state.key] = state
            except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
                raise BadList(f"{path}, line {number} is no entry: {error}") from error


def hashed(*texts: str) -> str:
    """Return what stands for *texts* in a journal.

    The key of a row is made of the list's place and the row's query, not of its line, so that
    rows may come and go between two runs.
    """
    return hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest()[:40]


def is_json(path: Path) -> bool:
    """Return whether results at *path* are lines of JSON; else they are CSV."""
    return path.suffix in {".jsonl", ".json"}


def open_results(path: Path, finished: Iterable[RowState]) -> BinaryIO:
    """Write the results of *finished* rows in place of an older file; return it to append to.

    The file's name says whether it is CSV, a line a person, or JSON, a line a brand.
    """
    new_path = path.with_name(f"{path.name}.new")
    with open_private(new_path, "wb") as new:
        if not is_json(path):
            new.write(as_csv([("row", "asked_brand", "asked_domain", "error", *COLUMNS)]))
        new.writelines(result_of(each, path) for each in finished)
    new_path.replace(path)
    return path.open("ab")


def result_of(state: RowState, path: Path) -> bytes:
    """Return the lines of *state*, a row that is finished, in the results at *path*."""
    return _in_json(state) if is_json(path) else _in_csv(state)


def _in_json(state: RowState) -> bytes:
    row, error = state.row, state.error
    assert row is not None, "a row is finished with its line"
    asked = {"row": row.number, "brand": row.brand, "domain": row.domain}
    came = {"search": state.found or state.other} if error is None else {"error": error}
    return json_line(asked | came)


def _in_csv(state: RowState) -> bytes:
    row, search, error = state.row, state.found or state.other, state.error
    assert row is not None, "a row is finished with its line"
    problem = "" if error is None else f"{error.code}: {error.message}"
    ahead = [str(row.number), row.brand or "", row.domain or "", problem]
    people = rows(search) if search is not None else [[""] * len(COLUMNS)]
    return as_csv([*ahead, *cells] for cells in people)
