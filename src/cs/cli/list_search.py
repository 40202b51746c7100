"""``cs search --file``: a whole list, within the limits of the key, and no row charged twice.

A row whose answer was lost may have been charged.  For a day the service knows it by its
idempotency key, so it is asked again; after that, and with another key or server, it is left
alone (`RowState.is_known`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from cs.cli.app import FAILED
from cs.cli.command import Output
from cs.cli.list_files import (
    BadList,
    Journal,
    Row,
    RowError,
    RowState,
    hashed,
    open_results,
    read_rows,
    result_of,
)
from cs.cli.output import stop, warn
from cs.cli.progress import Progress
from cs.cli.search_record import describe, exit_code
from cs.client import (
    Client,
    ClientError,
    Done,
    Failed,
    NotThisApi,
    Outcome,
    Query,
    Running,
)
from cs.client.many import AbsenceDetector
from cs.client.retries import shows_unknown_key

#: Reasons of failed searches that may be gone in a few minutes (contract text 7).
TRANSIENT = frozenset({"scrape_error", "timeout", "error"})


def _flag(help_line: str) -> Parameter:
    return Parameter(negative="", help=help_line)


@Parameter(name="*")
@dataclass(frozen=True)
class ListOptions:
    """The options of a search for a whole list."""

    file: Annotated[
        Path | None,
        Parameter(help="Search a list: CSV of brand, domain; .txt: one brand a line."),
    ] = None
    results: Annotated[
        Path | None, Parameter(help="Where a list's results go: .csv or .jsonl.")
    ] = None
    ask_again: Annotated[
        bool,
        _flag("List: ask again for rows lost a day ago or by another key; may be charged."),
    ] = False
    retry_failed: Annotated[
        bool, _flag("List: search again what the service could not finish.")
    ] = False
    estimate: Annotated[
        bool, _flag("List: estimate its cost from the service's data; search nothing.")
    ] = False


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
        rows = read_rows(path)
        journal_file = results.with_name(f"{results.name}.journal")
        if results.exists() and not journal_file.exists():
            stop(
                f"{results} is there without its journal, so what was asked for it is not "
                "known; move it away, or name other --results",
                2,
            )
        with Journal(journal_file, str(path.resolve())) as journal:
            listed = {hashed(journal.place, *row.query): row for row in rows}
            for state in map(journal.of, listed) if options.retry_failed else ():
                if isinstance(state.found, Failed) and state.found.reason in TRANSIENT:
                    journal.put(RowState(key=state.key, times=state.times + 1))
            by = hashed(identity)
            with open_results(results, journal.finished()) as written:

                def write(state: RowState) -> None:
                    written.write(result_of(state, results))
                    written.flush()

                search = _ListSearch(listed, journal, write, by, now, client, progress)
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
    return _summary(results, [journal.of(key) for key in listed], stopped)


def _summary(results: Path, states: Sequence[RowState], stopped: ClientError | None) -> Output:
    done = [each.found for each in states if isinstance(each.found, Done)]
    left = sum(not each.is_finished for each in states)
    failed = len(states) - len(done) - left
    charged = sum(bool(search.charged) for search in done)
    row = {"done": len(done), "failed": failed, "left": left, "charged": charged}
    counts = f"{len(done)} done, {failed} failed, {left} left; {charged} charged"
    problem = f"{describe(stopped)}; run it again to go on" if stopped is not None else None
    code = exit_code(stopped) if stopped else 1 if left else FAILED if failed else 0
    return Output(
        [row | {"results": str(results)}],
        [f"{counts}: {results}"],
        problem=problem,
        code=code,
    )


@dataclass
class _ListSearch:
    """The search for the rows of a list that are left.

    Attributes:
        listed: The rows of the list, by key.
        journal: Names the rows that are left; every step is written to it.
        write: Appends a row that has finished to the results.
        by: Server and key, hashed.
        now, client, progress: As of `search_list`.
    """

    listed: dict[str, Row]
    journal: Journal
    write: Callable[[RowState], None]
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
        """Store and show *outcome*."""
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
        self.write(state)

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
        """Warn once if the list takes days."""
        limits = self.client.limits
        day = limits.windows.get("day") if limits is not None else None
        if self._days_known or day is None or not day.limit:
            return
        self._days_known = True
        if len(self._left) > day.limit:
            days = math.ceil(len(self._left) / day.limit)
            warn(f"a key may search {day.limit} brands a day: the list takes about {days} days")

    def _show(self) -> None:
        done = len(self.listed) - len(self._left)
        self.progress.show(f"{done} of {len(self.listed)} searched")


def _key_of(query: Query) -> str:
    return query.idempotency_key.partition("-")[0]
