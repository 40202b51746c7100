"""Asking for what is left of a list, so that no row is charged twice.

A row whose answer was lost may have been charged.  For a day the service knows it by its
idempotency key, so it is asked first; after that it is left alone (`Journal.in_doubt`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from cs.cli.brand_list.entries import AnswerLost, RowRefused, RowRequested, SearchStarted
from cs.cli.brand_list.journal import Journal
from cs.cli.brand_list.outcomes import finished_row, most_severe
from cs.cli.brand_list.results import Results
from cs.cli.brand_list.rows import Row
from cs.cli.client_errors import describe
from cs.cli.output import warn
from cs.cli.progress import Progress
from cs.client import (
    Client,
    ClientError,
    Done,
    Limits,
    NotThisApi,
    Outcome,
    Query,
    Running,
    Unreachable,
)
from cs.client.api import WAIT_S
from cs.client.many import AbsenceDetector
from cs.client.retries import shows_unknown_key

#: AnswerLost answers after which a row waits for the others: it may be the row that loses them.
LOST_OFTEN = 2


class ListSearch:
    """What is left of a list, and the asking for it.

    Args:
        rows: The list.
        journal: Says what is left; all that is done is written to it.
        results: What is found is written to it.
        now: The time of day, which tells how long ago a row was asked for.
        ask_again: Ask anew for rows whose answer was lost too long ago to be found.
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
        self._earlier = dict(journal.requested)  # what other runs asked for
        self._tried: set[str] = set()
        self._closed = False  # what refused one would refuse all that is new
        keyed = {journal.key_of(row): row for row in rows}
        self._count = len(keyed)
        self._remaining = {
            key: row for key, row in keyed.items() if key not in journal.finished
        }
        over = (journal.finished[key] for key in keyed.keys() - self._remaining.keys())
        self._failed = sum(not isinstance(each.search, Done) for each in over)

    def run(self, client: Client, progress: Progress) -> ClientError | None:
        """Search what is left; return what stopped it, None if nothing did."""
        errors: list[ClientError] = []
        self._show(progress)
        days_known = False
        absence = AbsenceDetector()
        for outcome in self._outcomes(client):
            error = outcome.error
            absent = absence.note(outcome)
            if error is None or outcome.is_final:
                self._failed += not isinstance(outcome.search, Done)
                self._end(outcome)
            else:
                key = _key_of(outcome.query)
                self._refused(key, error, sent=not outcome.closed)
                errors.append(error)
                if absent:
                    break
                self._closed = self._closed or outcome.closes_others
                if isinstance(error, NotThisApi):
                    row = self._remaining[key]
                    warn(f"line {row.number}, {(row.brand or row.domain)!r}: {describe(error)}")
            days_known = days_known or self._warn_of_days(client.limits)
            self._show(progress)
        self._warn_of_doubtful()
        return most_severe(errors)

    def _warn_of_doubtful(self) -> None:
        at = self._now()
        late = sum(
            self._journal.in_doubt(key, at) for key in self._remaining.keys() - self._tried
        )
        if late:
            warn(
                f"{late} brands were asked for over 23 hours ago, or who knows when, and the "
                "answers were lost, so asking again may charge them again: --ask-again does"
            )

    def _warn_of_days(self, limits: Limits | None) -> bool:
        """Say how long the list takes if it takes days; return whether it is known."""
        day = limits.windows.get("day") if limits is not None else None
        if day is None or not day.limit:
            return False
        if len(self._remaining) > day.limit:
            days = math.ceil(len(self._remaining) / day.limit)
            warn(f"a key may search {day.limit} brands a day: the list takes about {days} days")
        return True

    def _outcomes(self, client: Client) -> Iterator[Outcome]:
        yield from self._retry_requested(client, often=False)
        yield from client.contacts.search_many(self._queries(), started=self._started)
        yield from self._retry_requested(client, often=True)

    def _retry_requested(self, client: Client, *, often: bool) -> Iterator[Outcome]:
        """Ask again, one by one, for what is known to the service if it ever was there.

        It looks that up before pause, quota and limits (contract O1 to O11), so what others
        were refused by is no reason not to ask.

        Args:
            client: Of the service.
            often: Whether for what was lost `LOST_OFTEN`, or for all else.
        """
        for key in [key for key in self._remaining if self._was_requested(key)]:
            lost_often = self._journal.lost[key] >= LOST_OFTEN
            late = self._journal.in_doubt(key, self._now())
            if late or key in self._tried or lost_often != often:
                continue
            # However patient the client is, its tries end before the service forgets it.
            query = self._query(key, self._journal.requested[key].at.timestamp())
            for outcome in client.contacts.search_many(
                [query], timeout_s=WAIT_S, started=self._started
            ):
                if often or outcome.error is None or not shows_unknown_key(outcome.error):
                    yield outcome
                else:  # so it waits for its turn with the others
                    self._refused(key, outcome.error, sent=True)
                    self._tried.remove(key)

    def _was_requested(self, key: str) -> bool:
        return key in self._journal.requested and key not in self._journal.started

    def _queries(self) -> Iterator[Query]:
        """Yield what is left; before each, note that it is asked for.

        What is started costs nothing and is read whatever refuses the others.
        """
        for key, row in list(self._remaining.items()):
            if key in self._tried or (self._closed and key not in self._journal.started):
                continue
            if self._was_requested(key):
                at = self._now()
                if not (self._ask_again and self._journal.in_doubt(key, at)):
                    continue
                self._journal.append(
                    RowRequested(key, at, self._journal.requested[key].row or row)
                )
            elif key not in self._journal.started:
                self._journal.append(RowRequested(key, self._now(), row))
            yield self._query(key)

    def _query(self, key: str, asked_at: float | None = None) -> Query:
        """Return what *key* is asked for with: in the words that it was first asked with."""
        self._tried.add(key)
        request = self._journal.requested.get(key)
        row = (request and request.row) or self._remaining[key]
        search = self._journal.started.get(key, "")
        name = self._journal.idempotency_key(key)
        return Query(row.brand, row.domain, name, search, asked_at)

    def _started(self, query: Query, search: Running) -> None:
        key = _key_of(query)
        if key not in self._journal.started:
            self._journal.append(SearchStarted(key, search.id))

    def _end(self, outcome: Outcome) -> None:
        key = _key_of(outcome.query)
        finished = finished_row(key, self._remaining.pop(key), outcome)
        self._journal.append(finished)
        self._results.add(finished)

    def _refused(self, key: str, error: ClientError, *, sent: bool) -> None:
        """Note what *error* says of whether *key* may have been charged."""
        if key in self._journal.started:
            return
        if sent and error.in_doubt:
            if isinstance(error, Unreachable | NotThisApi):
                self._journal.append(AnswerLost(key))
            return
        # That this try came to nothing says nothing of those before it.
        before = self._earlier.get(key)
        shown = sent and shows_unknown_key(error)
        if before is None or (shown and before.is_known(self._now())):
            self._journal.append(RowRefused(key))
            self._earlier.pop(key, None)
        elif self._journal.requested[key] != before:
            self._journal.append(before)

    def _show(self, progress: Progress) -> None:
        done = self._count - len(self._remaining)
        progress.show(f"{done} of {self._count} searched, {self._failed} of them failed")


def _key_of(query: Query) -> str:
    return query.idempotency_key.partition("-")[0]
