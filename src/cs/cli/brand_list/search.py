"""Asking for what is left of a list, so that no row is charged twice.

A row whose answer was lost may have been charged.  For a day the service knows it by its
idempotency key, so it is asked first; after that it is left alone (`Journal.in_doubt`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from cs.cli.brand_list.ending import ended, gravest
from cs.cli.brand_list.journal import Asked, Journal, Lost, Refused, Started
from cs.cli.brand_list.results import Results
from cs.cli.brand_list.rows import Row
from cs.cli.output import warn
from cs.cli.progress import Progress
from cs.cli.refusals import told
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

#: Lost answers after which a row waits for the others: it may be the row that loses them.
OFTEN = 2


class Searching:
    """What is left of a list, and the asking for it.

    Args:
        rows: The list.
        journal: Knows what is left, and hears of all that is done.
        results: Hears what is found.
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
        self._before = dict(journal.asked)  # what other runs asked for
        self._tried: set[str] = set()
        self._closed = False  # what refused one would refuse all that is new
        keyed = {journal.key_of(row): row for row in rows}
        self._all = len(keyed)
        self._left = {key: row for key, row in keyed.items() if key not in journal.ended}
        over = (journal.ended[key] for key in keyed.keys() - self._left.keys())
        self._failed = sum(not isinstance(each.search, Done) for each in over)

    def all(self, client: Client, progress: Progress) -> ClientError | None:
        """Search what is left; return what stopped it, None if nothing did."""
        errors: list[ClientError] = []
        self._show(progress)
        days_told = False
        absence = AbsenceDetector()
        for outcome in self._outcomes(client):
            error = outcome.error
            nobody_there = absence.note(outcome)
            if error is None or outcome.is_final:
                self._failed += not isinstance(outcome.search, Done)
                self._end(outcome)
            else:
                key = _key_of(outcome.query)
                self._refused(key, error, sent=not outcome.closed)
                errors.append(error)
                if nobody_there:
                    break
                self._closed = self._closed or outcome.closes_others
                if isinstance(error, NotThisApi):
                    row = self._left[key]
                    warn(f"line {row.number}, {(row.brand or row.domain)!r}: {told(error)}")
            days_told = days_told or self._tell_days(client.limits)
            self._show(progress)
        self._tell_late()
        return gravest(errors)

    def _tell_late(self) -> None:
        at = self._now()
        late = sum(self._journal.in_doubt(key, at) for key in self._left.keys() - self._tried)
        if late:
            warn(
                f"{late} brands were asked for over 23 hours ago, or who knows when, and the "
                "answers were lost, so asking again may charge them again: --ask-again does"
            )

    def _tell_days(self, limits: Limits | None) -> bool:
        """Say how long the list takes if it takes days; return whether it is known."""
        day = limits.windows.get("day") if limits is not None else None
        if day is None or not day.limit:
            return False
        if len(self._left) > day.limit:
            days = math.ceil(len(self._left) / day.limit)
            warn(f"a key may search {day.limit} brands a day: the list takes about {days} days")
        return True

    def _outcomes(self, client: Client) -> Iterator[Outcome]:
        yield from self._asked_before(client, often=False)
        yield from client.contacts.search_many(self._queries(), started=self._started)
        yield from self._asked_before(client, often=True)

    def _asked_before(self, client: Client, *, often: bool) -> Iterator[Outcome]:
        """Ask again, one by one, for what is known to the service if it ever was there.

        It looks that up before pause, quota and limits (contract O1 to O11), so what others
        were refused by is no reason not to ask.

        Args:
            client: Of the service.
            often: Whether for what was lost `OFTEN`, or for all else.
        """
        for key in [key for key in self._left if self._was_asked(key)]:
            lost_often = self._journal.lost[key] >= OFTEN
            late = self._journal.in_doubt(key, self._now())
            if late or key in self._tried or lost_often != often:
                continue
            # However patient the client is, its tries end before the service forgets it.
            query = self._query(key, self._journal.asked[key].at.timestamp())
            for outcome in client.contacts.search_many(
                [query], timeout_s=WAIT_S, started=self._started
            ):
                if often or outcome.error is None or not shows_unknown_key(outcome.error):
                    yield outcome
                else:  # so it waits for its turn with the others
                    self._refused(key, outcome.error, sent=True)
                    self._tried.remove(key)

    def _was_asked(self, key: str) -> bool:
        return key in self._journal.asked and key not in self._journal.started

    def _queries(self) -> Iterator[Query]:
        """Yield what is left; before each, note that it is asked for.

        What is started costs nothing and is read whatever refuses the others.
        """
        for key, row in list(self._left.items()):
            if key in self._tried or (self._closed and key not in self._journal.started):
                continue
            if self._was_asked(key):
                at = self._now()
                if not (self._ask_again and self._journal.in_doubt(key, at)):
                    continue
                self._journal.note(Asked(key, at, self._journal.asked[key].row or row))
            elif key not in self._journal.started:
                self._journal.note(Asked(key, self._now(), row))
            yield self._query(key)

    def _query(self, key: str, asked_at: float | None = None) -> Query:
        """Return what *key* is asked for with: in the words that it was first asked with."""
        self._tried.add(key)
        asked = self._journal.asked.get(key)
        row = (asked and asked.row) or self._left[key]
        search = self._journal.started.get(key, "")
        name = self._journal.idempotency_key(key)
        return Query(row.brand, row.domain, name, search, asked_at)

    def _started(self, query: Query, search: Running) -> None:
        key = _key_of(query)
        if key not in self._journal.started:
            self._journal.note(Started(key, search.id))

    def _end(self, outcome: Outcome) -> None:
        key = _key_of(outcome.query)
        finished = ended(key, self._left.pop(key), outcome)
        self._journal.note(finished)
        self._results.add(finished)

    def _refused(self, key: str, error: ClientError, *, sent: bool) -> None:
        """Note what *error* says of whether *key* may have been charged."""
        if key in self._journal.started:
            return
        if sent and error.in_doubt:
            if isinstance(error, Unreachable | NotThisApi):
                self._journal.note(Lost(key))
            return
        # That this try came to nothing says nothing of those before it.
        before = self._before.get(key)
        shown = sent and shows_unknown_key(error)
        if before is None or (shown and before.is_known(self._now())):
            self._journal.note(Refused(key))
            self._before.pop(key, None)
        elif self._journal.asked[key] != before:
            self._journal.note(before)

    def _show(self, progress: Progress) -> None:
        done = self._all - len(self._left)
        progress.show(f"{done} of {self._all} searched, {self._failed} of them failed")


def _key_of(query: Query) -> str:
    return query.idempotency_key.partition("-")[0]
