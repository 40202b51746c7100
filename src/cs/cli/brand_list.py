"""``cs search --file``: a whole list, within the limits of the key, and no row charged twice.

The list is CSV out of a spreadsheet, or a text of one name a line.  The journal is one JSON
object a line, each on the disk before anything follows from it; the last line of a row counts.
The file of results is made from it.

A row whose answer was lost may have been charged.  For a day the service knows it by its
idempotency key, so it is asked for again; after that, and with another key or server, it is
left alone (`RowState.is_known`).
"""

import fcntl
import hashlib
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cs.cli.app import FAILED
from cs.cli.command import Invocation, Output
from cs.cli.output import Progress, as_csv, json_line, stop, warn
from cs.cli.search import COLUMNS, ListOptions, describe, exit_code, rows
from cs.client import (
    Client,
    ClientError,
    Done,
    Failed,
    NotThisApi,
    Other,
    Outcome,
    Query,
    Running,
)
from cs.client.many import AbsenceDetector
from cs.client.retries import KEY_KNOWN_S, shows_unknown_key
from cs.runtime.csv_records import records
from cs.runtime.private_files import open_private

#: A larger file is no list of brands: a key's limits allow so many in years.
MAX_BYTES = 4 * 1024 * 1024
#: How long a server is sure to know an idempotency key.
KNOWN_FOR = timedelta(seconds=KEY_KNOWN_S)
#: A request further in the future than clocks differ was made by a clock that was set back,
#: so its age is not known.
_AHEAD = timedelta(minutes=5)
#: Reasons of failed searches that may be gone in a few minutes (contract text 7).
TRANSIENT = frozenset({"scrape_error", "timeout", "error"})
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
        """Return a value that is equal for rows that ask for the same."""
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
    found: dict[tuple[str, str], Row] = {}
    try:
        text = data.decode("utf-8-sig")
        for row in _lines(text) if path.suffix.lower() == ".txt" else _records(text):
            found.setdefault(row.query, row)
    except UnicodeDecodeError as error:
        raise BadList(f"{path} is not UTF-8; save it as CSV UTF-8") from error
    except BadList as error:
        raise BadList(f"{path}, {error}") from error
    if not found:
        raise BadList(f"{path} names no brand")
    return tuple(found.values())


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
    first = True
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        brand = " ".join(line.split())
        if first and set(_NAMES) <= set(re.split(r"\s*[,;\t ]\s*", brand.casefold())):
            raise BadList(f"line {number} names columns; a list with columns is called .csv")
        if brand:
            first = False
            yield Row(number, brand, None)


class RowError(msgspec.Struct, frozen=True):
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


def _write_results(path: Path, finished: Iterable[RowState]) -> None:
    """Write the results of *finished* to *path*, in the place of an older file.

    Its name says whether it is JSON, a line a brand, or CSV, a line a person.
    """
    new_path = path.with_name(f"{path.name}.new")
    with open_private(new_path, "wb") as new:
        if not _is_json(path):
            new.write(as_csv([("row", "asked_brand", "asked_domain", "error", *COLUMNS)]))
        new.writelines(_result_lines(path, state) for state in finished)
    new_path.replace(path)


def _result_lines(path: Path, state: RowState) -> bytes:
    """Return the lines of *state*, a row that is finished, for the results at *path*."""
    row, search, error = state.row, state.found or state.other, state.error
    assert row is not None, "a row is finished with its line"
    if _is_json(path):
        asked = {"row": row.number, "brand": row.brand, "domain": row.domain}
        return json_line(asked | ({"error": error} if error else {"search": search}))
    problem = "" if error is None else f"{error.code}: {error.message}"
    ahead = [str(row.number), row.brand or "", row.domain or "", problem]
    people = rows(search) if search is not None else [[""] * len(COLUMNS)]
    return as_csv([*ahead, *cells] for cells in people)


def _is_json(path: Path) -> bool:
    return path.suffix in {".jsonl", ".json"}


def results_path(at: Invocation, file: Path, results: Path | None) -> Path:
    """Return where the results of the list *file* go, ``brands.results.csv`` by default."""
    if not file.name or (results is not None and not results.name):
        stop("--file and --results are names of files", 2)
    form = "jsonl" if at.json else "csv"
    path = results or file.with_name(f"{file.stem}.results.{form}")
    if (at.json and not _is_json(path)) or (at.csv and _is_json(path)):
        stop(f"the name of the results says their form, and {path.name} says another", 2)
    return path


def _utc_now() -> datetime:
    return datetime.now(UTC)


def search_list(
    path: Path,
    results: Path,
    options: ListOptions,
    client: Client,
    progress: Progress,
    *,
    identity: str,
    now: Callable[[], datetime] = _utc_now,
) -> Output:
    """Search the list at *path* on *client*, and return how that went.

    Args:
        path: The brands.
        results: Where the results go, rewritten from the journal next to it.
        options: What to do about rows that were requested before.
        client: Of the server that *identity* names.
        progress: Shows how far it is.
        identity: Server and key; stored as a hash.
        now: The time of day, as *client* has it, for how long ago a row was requested.
    """
    try:
        listed = read_rows(path)
        journal_file = results.with_name(f"{results.name}.journal")
        if results.exists() and not journal_file.exists():
            stop(
                f"{results} is there without its journal, so what was asked for it is not "
                "known; move it away, or name other --results",
                2,
            )
        with Journal(journal_file, str(path.resolve())) as journal:
            by_key = {hashed(journal.place, *row.query): row for row in listed}
            for state in map(journal.of, by_key) if options.retry_failed else ():
                if isinstance(state.found, Failed) and state.found.reason in TRANSIENT:
                    journal.put(RowState(key=state.key, times=state.times + 1))
            _write_results(results, journal.finished())
            search = _ListSearch(
                by_key, journal, results, hashed(identity), now, client, progress
            )
            stopped = search.run(ask_again=options.ask_again)
    except KeyboardInterrupt:
        warn(f"what is found so far is in {results}; run it again to go on")
        raise
    except BadList as error:
        stop(str(error), 2)
    except ClientError as error:
        stop(describe(error), exit_code(error))
    except OSError as error:
        stop(f"{error.filename or results}: {error.strerror}")
    return _summary(results, [journal.of(key) for key in by_key], stopped)


def _summary(results: Path, states: Sequence[RowState], stopped: ClientError | None) -> Output:
    done = [each.found for each in states if isinstance(each.found, Done)]
    left = sum(not each.is_finished for each in states)
    failed = len(states) - len(done) - left
    charged = sum(bool(search.charged) for search in done)
    row = {"done": len(done), "failed": failed, "left": left, "charged": charged}
    counts = f"{len(done)} done, {failed} failed, {left} left; {charged} charged"
    return Output(
        [row | {"results": str(results)}],
        [f"{counts}: {results}"],
        problem=f"{describe(stopped)}; run it again to go on" if stopped else None,
        code=exit_code(stopped) if stopped else 1 if left else FAILED if failed else 0,
    )


@dataclass
class _ListSearch:
    """The search for the rows of a list that are left.

    Attributes:
        listed: The rows of the list, by key.
        journal: Names the rows that are left; every step is written to it.
        results: The file to which rows are added as they finish.
        by: Server and key, hashed.
        now, client, progress: As of `search_list`.
    """

    listed: dict[str, Row]
    journal: Journal
    results: Path
    by: str
    now: Callable[[], datetime]
    client: Client
    progress: Progress

    def __post_init__(self) -> None:
        of = self.journal.of
        self._left = {key: row for key, row in self.listed.items() if not of(key).is_finished}
        #: First asked for in this run: a refusal shows that they were not charged.
        self._new: set[str] = set()
        self._errors: list[ClientError] = []
        self._closed = False  # what refused one would refuse all that is new
        self._days_known = False

    def run(self, *, ask_again: bool) -> ClientError | None:
        """Search the rows that are left; return the error that stopped it, if one did.

        Args:
            ask_again: Ask again for rows whose answer was lost too long ago to be found.
        """
        self._show()
        absence = AbsenceDetector()
        queries = self._queries(ask_again=ask_again)
        for outcome in self.client.contacts.search_many(queries, started=self._started):
            self._note(outcome)
            # Rows that are lost each time do not keep the others from being searched.
            error, is_old = outcome.error, outcome.query.asked_at is not None
            is_lost_again = is_old and error is not None and error.in_doubt
            if not is_lost_again and absence.note(outcome):
                break
        lost = sum(self._is_in_doubt(self.journal.of(key)) for key in self._left)
        if lost and not ask_again:
            warn(
                f"{lost} brands were asked for over 23 hours ago, or with another key or "
                "server, and the answers were lost; --ask-again asks for them again, which "
                "may charge them again"
            )
        return max(self._errors, key=exit_code, default=None)

    def _queries(self, *, ask_again: bool) -> Iterator[Query]:
        """Yield the rows that are left; before each, store that it is asked for.

        Rows whose answer was lost come first, while the service knows them.  A search that
        runs costs nothing, and is read whatever refuses the others.
        """
        of = self.journal.of
        for key in sorted(self._left, key=lambda key: not of(key).is_open):
            state, asked_at = of(key), None
            if state.is_open and not self._is_in_doubt(state):
                assert state.asked_at is not None, "it is open"
                asked_at = None if state.search else state.asked_at.timestamp()
            elif self._closed or (state.is_open and not ask_again):
                continue
            elif state.is_open:
                state = replace(state, search="")
            else:
                state = replace(state, asked_at=self.now(), by=self.by, row=self._left[key])
                self.journal.put(state)
                self._new.add(key)
            row = state.row or self._left[key]  # in the words that it was first asked with
            yield Query(row.brand, row.domain, state.idempotency_key, state.search, asked_at)

    def _is_in_doubt(self, state: RowState) -> bool:
        """Return whether asking for *state* again may charge it again."""
        return state.is_open and not state.is_known(self.now(), self.by)

    def _started(self, query: Query, search: Running) -> None:
        state = self.journal.of(_key_of(query))
        if state.search != search.id:
            self.journal.put(replace(state, search=search.id, by=self.by))

    def _note(self, outcome: Outcome) -> None:
        key, error = _key_of(outcome.query), outcome.error
        if error is None or outcome.is_final:
            self._finish(key, outcome)
        else:
            self._refused(key, error, sent=not outcome.closed)
            self._errors.append(error)
            self._closed = self._closed or outcome.closes_others
            if isinstance(error, NotThisApi):
                row = self._left[key]
                warn(f"line {row.number}, {(row.brand or row.domain)!r}: {describe(error)}")
        self._warn_of_days()
        self._show()

    def _finish(self, key: str, outcome: Outcome) -> None:
        state, search, error = self.journal.of(key), outcome.search, outcome.error
        state = replace(state, row=self._left.pop(key))
        if error is not None:
            ended = RowError(error.code, error.status, error.message)
            state = replace(state, error=ended)
        elif isinstance(search, Done | Failed):
            state = replace(state, found=search, search=search.id)
        elif search is not None and not isinstance(search, Running):
            state = replace(state, other=search, search=search.id)
        self.journal.put(state)
        with open_private(self.results, "ab") as file:
            file.write(_result_lines(self.results, state))

    def _refused(self, key: str, error: ClientError, *, sent: bool) -> None:
        """Take back that *key* was asked for if *error* shows that it was not charged."""
        state = self.journal.of(key)
        if state.search or (sent and error.in_doubt):
            return
        # That this try failed says nothing of those before it.
        unknown = sent and shows_unknown_key(error) and state.is_known(self.now(), self.by)
        if unknown or key in self._new:
            self.journal.put(replace(state, asked_at=None, by="", row=None))

    def _warn_of_days(self) -> None:
        limits = self.client.limits
        day = limits.windows.get("day") if limits is not None else None
        if self._days_known or day is None or not day.limit:
            return
        self._days_known = True
        if len(self._left) > day.limit:
            days = math.ceil(len(self._left) / day.limit)
            warn(f"a key may search {day.limit} brands a day: the list takes about {days} days")

    def _show(self) -> None:
        self.progress.show(
            f"{len(self.listed) - len(self._left)} of {len(self.listed)} searched"
        )


def _key_of(query: Query) -> str:
    return query.idempotency_key.partition("-")[0]
