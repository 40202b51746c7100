"""``cs search --file``: a whole list, within the limits of the key, and only once."""

import hashlib
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cs.cli.list_journal import (
    Again,
    Asked,
    BadJournal,
    Ended,
    Journal,
    Refused,
    Started,
    Trouble,
)
from cs.cli.list_results import Results
from cs.cli.list_rows import BadList, Row, read_rows
from cs.cli.output import FAILED, console, stop, warn
from cs.cli.progress import Progress
from cs.cli.refusals import exit_code, told
from cs.client import (
    BadRequest,
    Client,
    ClientError,
    Done,
    Failed,
    Limits,
    NotFound,
    NotThisApi,
    Other,
    Outcome,
    Query,
    QuotaExceeded,
    Running,
    Search,
    Unreachable,
)
from cs.client.many import FOR_ALL

#: There is no such service at the address.
NOBODY = (Unreachable, NotThisApi, NotFound)


#: Reasons of failed searches that may be gone in a few minutes (SPEC.md section 7).
PASSING = frozenset({"scrape_error", "timeout", "error"})


class List(msgspec.Struct, frozen=True):
    """A list to be searched.

    Attributes:
        path: The brands.
        results: What is found, rewritten from the journal beside it.
        ask_again: Ask anew for rows whose answer was lost too long ago to be found.
        retry_failed: Search rows anew that failed by no fault of theirs.
    """

    path: Path
    results: Path
    ask_again: bool = False
    retry_failed: bool = False

    @property
    def journal(self) -> Path:
        return self.results.with_name(f"{self.results.name}.journal")


def results_beside(path: Path, *, json: bool) -> Path:
    """Return where the results of *path* go unless told: ``brands.results.csv``."""
    return path.with_name(f"{path.stem}.results.{'jsonl' if json else 'csv'}")


def search_list(asked: List, client: Client, progress: Progress, *, identity: str) -> None:
    """Search *asked* on *client*; end the command with how that went.

    Args:
        asked: The list.
        client: Of the server that *identity* names.
        progress: Hears how far it is.
        identity: Server and key; kept as a hash.
    """
    try:
        rows = read_rows(asked.path)
        _check_known(asked)
        place = str(asked.path.resolve())
        with Journal(asked.journal, _hash(identity), place) as journal:
            if asked.retry_failed:
                _note_again(journal, rows)
            with Results(asked.results, journal.ended.values()) as results:
                stopped = _Searching(asked, rows, journal, results).all(client, progress)
    except KeyboardInterrupt:
        warn(f"what is found so far is in {asked.results}; run it again to go on")
        raise
    except (BadList, BadJournal) as error:
        stop(str(error), 2)
    except OSError as error:
        stop(f"{error.filename or asked.results}: {error.strerror}")
    _end(asked, rows, journal, stopped)


def _note_again(journal: Journal, rows: tuple[Row, ...]) -> None:
    for key in (_key(journal.place, row) for row in rows):
        search = journal.ended[key].search if key in journal.ended else None
        if isinstance(search, Failed) and search.reason in PASSING:
            journal.note(Again(key))


def _check_known(asked: List) -> None:
    if asked.results.is_dir():
        raise BadList(f"{asked.results} is a folder; name a file in it")
    if asked.results.exists() and not asked.journal.exists():
        raise BadList(
            f"{asked.results} is there without {asked.journal.name}, so what was asked "
            "for it is not known; move it away, or name other --results"
        )


class _Searching:
    def __init__(
        self, asked: List, rows: tuple[Row, ...], journal: Journal, results: Results
    ) -> None:
        self._journal = journal
        self._results = results
        at = datetime.now(UTC)
        self._left: dict[str, Row] = {}
        self._doubtful = 0
        self._failed = 0
        self._closed = False  # what refused one would refuse all
        for row in rows:
            key = _key(journal.place, row)
            if journal.in_doubt(key, at) and key not in journal.ended:
                if asked.ask_again:
                    self._journal.note(Refused(key))
                else:
                    self._doubtful += 1
                    continue
            if key not in journal.ended:
                self._left[key] = row
            elif not isinstance(journal.ended[key].search, Done):
                self._failed += 1
        self._all = len(rows)

    def all(self, client: Client, progress: Progress) -> ClientError | None:
        """Search what is left; return what stopped it, None if nothing did."""
        if self._doubtful:
            warn(
                f"{self._doubtful} brands were asked for over 23 hours ago and the answers "
                "were lost, so asking again may charge them again: --ask-again does"
            )
        stopped: ClientError | None = None
        self._show(progress)
        days_told = False
        for outcome in client.contacts.search_many(self._queries(), started=self._started):
            if outcome.error is None or _is_final(outcome, outcome.error):
                self._failed += not isinstance(outcome.search, Done)
                self._end(outcome)
            else:
                stopped = self._refused(outcome.query, outcome.error, stopped)
                if isinstance(outcome.error, NOBODY):
                    break  # the others would only wait as long in vain
                self._closed = self._closed or isinstance(outcome.error, FOR_ALL)
            days_told = days_told or self._tell_days(client.limits)
            self._show(progress)
        return stopped

    def _tell_days(self, limits: Limits | None) -> bool:
        """Say how long the list takes if it takes days; return whether it is known."""
        day = limits.windows.get("day") if limits is not None else None
        if day is None or not day.limit:
            return False
        if len(self._left) > day.limit:
            days = math.ceil(len(self._left) / day.limit)
            warn(f"a key may search {day.limit} brands a day: the list takes about {days} days")
        return True

    def _queries(self) -> Iterator[Query]:
        """Yield what is left; before each, note that it is asked for."""
        for key, row in list(self._left.items()):
            if self._closed:
                return
            search = self._journal.started.get(key, "")
            if key not in self._journal.asked and not search:
                self._journal.note(Asked(key, datetime.now(UTC)))
            yield Query(row.brand, row.domain, self._journal.idempotency_key(key), search)

    def _started(self, query: Query, search: Running) -> None:
        key = _key_of(query)
        if key not in self._journal.started:
            self._journal.note(Started(key, search.id))

    def _end(self, outcome: Outcome) -> None:
        key = _key_of(outcome.query)
        ended = _ended(key, self._left.pop(key), outcome)
        self._journal.note(ended)
        self._results.add(ended)

    def _refused(
        self, query: Query, error: ClientError, before: ClientError | None
    ) -> ClientError:
        key = _key_of(query)
        if not error.in_doubt and error.search is None and key not in self._journal.started:
            self._journal.note(Refused(key))
        return before if isinstance(before, QuotaExceeded) else error

    def _show(self, progress: Progress) -> None:
        done = self._all - len(self._left) - self._doubtful
        progress.show(f"{done} of {self._all} searched, {self._failed} of them failed")


def _is_final(outcome: Outcome, error: ClientError) -> bool:
    """Return whether the row is finished with *error*: asked again it would be the same."""
    if isinstance(error, NotFound):  # of no search, it is the address that is wrong
        return bool(outcome.query.search) or error.search is not None
    return isinstance(error, BadRequest)


def _ended(key: str, row: Row, outcome: Outcome) -> Ended:
    search: Search | None = outcome.search
    match search:
        case Done() | Failed():
            return Ended(key, row, search=search)
        case Other():
            return Ended(key, row, other=search)
        case _:
            error = outcome.error
            assert error is not None, "a query ends with a search or an error"
            return Ended(key, row, error=Trouble(error.code, error.status, error.message))


def _end(
    asked: List, rows: tuple[Row, ...], journal: Journal, stopped: ClientError | None
) -> None:
    """Say how it went, and end with its exit code."""
    ended = [journal.ended.get(_key(journal.place, row)) for row in rows]
    done = [e.search for e in ended if e is not None and isinstance(e.search, Done)]
    left = ended.count(None)
    failed = len(ended) - len(done) - left
    charged = sum(bool(search.charged) for search in done)
    counts = f"{len(done)} done, {failed} failed, {left} left; {charged} charged"
    console.print(f"{counts}: {asked.results}")
    if stopped is not None:
        stop(f"{told(stopped)}; run it again to go on", exit_code(stopped))
    if left:
        raise SystemExit(1)
    if failed:
        raise SystemExit(FAILED)


def _key(place: str, row: Row) -> str:
    """Return the name of *row*: the same for the same wish of the list begun at *place*.

    It does not go by the line, so that rows may come and go between two runs.
    """
    return _hash("\0".join((place, *row.wish)))


def _key_of(query: Query) -> str:
    return query.idempotency_key.partition("-")[0]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:40]
