"""``cs search --file``: a whole list, within the limits of the key, and no row charged twice.

A row whose answer was lost may have been charged.  For a day the service knows it by its
idempotency key, so it is asked first; after that it is left alone (`RowState.in_doubt`).
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from cs.cli.app import FAILED
from cs.cli.brand_list.journal import (
    BadJournal,
    Journal,
    RowError,
    RowState,
    hashed,
    searched_before,
)
from cs.cli.brand_list.results import Results
from cs.cli.brand_list.rows import BadList, Row, read_rows
from cs.cli.client_errors import describe, exit_code, most_severe
from cs.cli.command import Output
from cs.cli.output import stop, warn
from cs.cli.progress import Progress
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
    Unreachable,
)
from cs.client.api import WAIT_S
from cs.client.many import AbsenceDetector
from cs.client.retries import shows_unknown_key

#: Lost answers after which a row waits for the others: it may be the row that loses them.
LOST_OFTEN = 2
#: Reasons of failed searches that may be gone in a few minutes (contract text 7).
TRANSIENT = frozenset({"scrape_error", "timeout", "error"})


class ListRequest(msgspec.Struct, frozen=True):
    """A list to be searched.

    Attributes:
        path: The brands.
        results: Where the results go, rewritten from the journal next to it.
        ask_again: Ask again for rows whose answer was lost too long ago to be found.
        retry_failed: Search rows again that the service could not finish.
        again: Search a list that was searched before under another name of the results.
    """

    path: Path
    results: Path
    ask_again: bool = False
    retry_failed: bool = False
    again: bool = False

    @property
    def journal(self) -> Path:
        return self.results.with_name(f"{self.results.name}.journal")


def _utc_now() -> datetime:
    return datetime.now(UTC)


def search_list(
    request: ListRequest,
    client: Client,
    progress: Progress,
    *,
    identity: str,
    now: Callable[[], datetime] = _utc_now,
) -> Output:
    """Search the list of *request* on *client*, and return how that went.

    Args:
        request: The list, and what to do about rows that were requested before.
        client: Of the server that *identity* names.
        progress: Shows how far it is.
        identity: Server and key; stored as a hash.
        now: The time of day, as *client* has it, for how long ago a row was requested.
    """
    try:
        rows = read_rows(request.path)
        _check_results(request)
        place = str(request.path.resolve())
        if not request.again and not request.journal.exists():
            _confirm_repeat(request, rows, place)
        with Journal(request.journal, hashed(identity), place) as journal:
            journal.check_owner(hashed(identity), client, ask_again=request.ask_again)
            states = {key: journal.of(key) for key in map(journal.key_of, rows)}
            for key, state in states.items() if request.retry_failed else ():
                if isinstance(state.found, Failed) and state.found.reason in TRANSIENT:
                    journal.put(RowState(key=key, times=state.times + 1))
            finished = [each for each in journal.rows.values() if each.is_finished]
            with Results(request.results, finished) as results:
                search = ListSearch(rows, journal, results, now, ask_again=request.ask_again)
                stopped = search.run(client, progress)
    except KeyboardInterrupt:
        warn(f"what is found so far is in {request.results}; run it again to go on")
        raise
    except (BadList, BadJournal) as error:
        stop(str(error), 2)
    except ClientError as error:
        stop(describe(error), exit_code(error))
    except OSError as error:
        stop(f"{error.filename or request.results}: {error.strerror}")
    return _summary(request, [journal.of(key) for key in states], stopped)


def _check_results(request: ListRequest) -> None:
    if request.results.is_dir():
        raise BadList(f"{request.results} is a folder; name a file in it")
    if request.results.exists() and not request.journal.exists():
        raise BadList(
            f"{request.results} is there without {request.journal.name}, so what was asked "
            "for it is not known; move it away, or name other --results"
        )


def _confirm_repeat(request: ListRequest, rows: tuple[Row, ...], place: str) -> None:
    """End the command unless its user wants *rows* of another journal searched again.

    Raises:
        BadList: They were searched before, and there is no terminal to ask on.
    """
    folders = {path.absolute().parent for path in (request.path, request.results)}
    folders.add(Path.cwd())
    for journal in (each for folder in sorted(folders) for each in folder.glob("*.journal")):
        count = searched_before(journal, rows, place)
        if not count:
            continue
        results = journal.with_name(journal.name.removesuffix(".journal"))
        searched = f"{count} of {len(rows)} brands of this list were searched into {results}"
        if not sys.stdin.isatty():
            raise BadList(
                f"{searched}; --results {results} goes on there, --again searches them again, "
                "which may be charged again"
            )
        warn(f"{searched}; searching them again may be charged again")
        if input("search them again? [y/N] ").strip().casefold() not in {"y", "yes"}:
            stop(f"nothing was searched; --results {results} goes on there")
        return


def _summary(
    request: ListRequest, states: Sequence[RowState], stopped: ClientError | None
) -> Output:
    done = [each.found for each in states if isinstance(each.found, Done)]
    left = sum(not each.is_finished for each in states)
    failed = len(states) - len(done) - left
    charged = sum(bool(search.charged) for search in done)
    row = {"done": len(done), "failed": failed, "left": left, "charged": charged}
    counts = f"{len(done)} done, {failed} failed, {left} left; {charged} charged"
    problem = f"{describe(stopped)}; run it again to go on" if stopped is not None else None
    code = exit_code(stopped) if stopped else 1 if left else FAILED if failed else 0
    return Output(
        [row | {"results": str(request.results)}],
        [f"{counts}: {request.results}"],
        problem=problem,
        code=code,
    )


class ListSearch:
    """The search for the rows of a list that are left.

    Args:
        rows: The list.
        journal: Names the rows that are left; every step is written to it.
        results: Where finished rows are written.
        now: The time of day, which tells how long ago a row was asked for.
        ask_again: Ask again for rows whose answer was lost too long ago to be found.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        journal: Journal,
        results: Results,
        now: Callable[[], datetime],
        *,
        ask_again: bool = False,
    ) -> None:
        self._ask_again = ask_again
        self._journal = journal
        self._results = results
        self._now = now
        self._tried: set[str] = set()
        self._closed = False  # what refused one would refuse all that is new
        self._days_known = False
        states = {journal.key_of(row): row for row in rows}
        self._count = len(states)
        self._left = {k: row for k, row in states.items() if not journal.of(k).is_finished}
        # Requests of earlier runs, to which a refusal of this run takes a row back.
        self._earlier = {k: journal.of(k) for k in self._left if journal.of(k).asked_at}
        over = states.keys() - self._left.keys()
        self._failed = sum(not isinstance(journal.of(key).found, Done) for key in over)

    def run(self, client: Client, progress: Progress) -> ClientError | None:
        """Search the rows that are left; return the error that stopped it, if one did."""
        errors: list[ClientError] = []
        absence = AbsenceDetector()
        self._show(progress)
        for outcome in self._outcomes(client):
            key, error = _key_of(outcome.query), outcome.error
            absent = absence.note(outcome)
            if error is None or outcome.is_final:
                self._finish(key, outcome)
            else:
                self._refused(key, error, sent=not outcome.closed)
                errors.append(error)
                if absent:
                    break
                self._closed = self._closed or outcome.closes_others
                if isinstance(error, NotThisApi):
                    row = self._left[key]
                    warn(f"line {row.number}, {(row.brand or row.domain)!r}: {describe(error)}")
            self._warn_of_days(client)
            self._show(progress)
        untried = self._left.keys() - self._tried
        if late := sum(self._journal.of(key).in_doubt(self._now()) for key in untried):
            warn(
                f"{late} brands were asked for over 23 hours ago, or who knows when, and the "
                "answers were lost, so asking again may charge them again: --ask-again does"
            )
        return most_severe(errors)

    def _warn_of_days(self, client: Client) -> None:
        """Say once how long the list takes if it takes days."""
        day = client.limits.windows.get("day") if client.limits is not None else None
        if self._days_known or day is None or not day.limit:
            return
        self._days_known = True
        if len(self._left) > day.limit:
            days = math.ceil(len(self._left) / day.limit)
            warn(f"a key may search {day.limit} brands a day: the list takes about {days} days")

    def _outcomes(self, client: Client) -> Iterator[Outcome]:
        yield from self._retry_unanswered(client, often=False)
        yield from client.contacts.search_many(self._queries(), started=self._started)
        yield from self._retry_unanswered(client, often=True)

    def _retry_unanswered(self, client: Client, *, often: bool) -> Iterator[Outcome]:
        """Ask again, one by one, for rows that the service knows if it ever got them.

        It looks a key up before pause, quota and limits (contract O1 to O11), so a refusal
        of others is no reason not to ask.

        Args:
            client: Of the service.
            often: For the rows that were lost `LOST_OFTEN`, or for all others.
        """
        for key in [key for key in self._left if self._journal.of(key).is_unanswered]:
            state = self._journal.of(key)
            if state.in_doubt(self._now()) or key in self._tried:
                continue
            if (state.lost >= LOST_OFTEN) != often:
                continue
            assert state.asked_at is not None, "it is unanswered"
            # However patient the client is, its tries end before the service forgets the key.
            query = self._query(key, state.asked_at.timestamp())
            for outcome in client.contacts.search_many(
                [query], timeout_s=WAIT_S, started=self._started
            ):
                if often or outcome.error is None or not shows_unknown_key(outcome.error):
                    yield outcome
                else:  # so it waits for its turn with the others
                    self._refused(key, outcome.error, sent=True)
                    self._tried.remove(key)

    def _queries(self) -> Iterator[Query]:
        """Yield the rows that are left; before each, store that it is asked for.

        A search that runs costs nothing, and is read whatever refuses the others.
        """
        for key, row in list(self._left.items()):
            state, at = self._journal.of(key), self._now()
            if key in self._tried or (self._closed and not state.search):
                continue
            if state.is_unanswered and not (self._ask_again and state.in_doubt(at)):
                continue
            if not state.search:
                self._journal.put(replace(state, asked_at=at, row=state.row or row))
            yield self._query(key)

    def _query(self, key: str, asked_at: float | None = None) -> Query:
        """Return the query for *key*, in the words that it was first asked with."""
        self._tried.add(key)
        state = self._journal.of(key)
        row = state.row or self._left[key]
        return Query(row.brand, row.domain, state.idempotency_key, state.search, asked_at)

    def _started(self, query: Query, search: Running) -> None:
        state = self._journal.of(_key_of(query))
        if not state.search:
            self._journal.put(replace(state, search=search.id))

    def _finish(self, key: str, outcome: Outcome) -> None:
        state, search, error = self._journal.of(key), outcome.search, outcome.error
        state = replace(state, row=self._left.pop(key))
        if error is not None:
            ended = RowError(error.code, error.status, error.message)
            state = replace(state, error=ended)
        elif isinstance(search, Done | Failed):
            state = replace(state, found=search, search=search.id)
        elif isinstance(search, Other):
            state = replace(state, other=search, search=search.id)
        self._failed += not isinstance(search, Done)
        self._journal.put(state)
        self._results.add(state)

    def _refused(self, key: str, error: ClientError, *, sent: bool) -> None:
        """Store what *error* shows about whether *key* may have been charged."""
        state = self._journal.of(key)
        if state.search:
            return
        if sent and error.in_doubt:
            if isinstance(error, Unreachable | NotThisApi):
                self._journal.put(replace(state, lost=state.lost + 1))
            return
        # That this try failed says nothing of those before it.
        before = self._earlier.get(key)
        shown = sent and shows_unknown_key(error)
        if before is None or (shown and before.is_known(self._now())):
            self._journal.put(replace(state, asked_at=None, row=None, lost=0))
            self._earlier.pop(key, None)
        elif (state.asked_at, state.row) != (before.asked_at, before.row):
            self._journal.put(replace(state, asked_at=before.asked_at, row=before.row))

    def _show(self, progress: Progress) -> None:
        done = self._count - len(self._left)
        progress.show(f"{done} of {self._count} searched, {self._failed} of them failed")


def _key_of(query: Query) -> str:
    return query.idempotency_key.partition("-")[0]
