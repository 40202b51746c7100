"""Many searches at once, and politely: as the limits of the key allow, one call at a time."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

import msgspec

from cs.client.answers import NoReply, Reply, limits_of
from cs.client.api import Query, as_query
from cs.client.errors import (
    ApiError,
    AtCapacity,
    ClientError,
    InFlight,
    Paused,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
)
from cs.client.flows import Begun, Flow, Flows, Heard, Pause, Send
from cs.client.patience import Patience
from cs.client.records import Running, Search

#: Contract text 8: new-brand searches of one key that may run at once.
AT_ONCE = 2
#: Refusals that the next query would meet as well.
FOR_ALL = (Unauthorized, QuotaExceeded, RateLimited, Paused)
#: Refusals of something new for want of room.  One proves nothing for the next query: a brand
#: to be reused is still answered.
FOR_NEW = (AtCapacity, InFlight)
#: Of those in a row, after which there is taken to be no room for anything.
FULL_AFTER = 3


class Outcome(msgspec.Struct, frozen=True):
    """How one of many queries ended: *search*, or the *error* instead of it.

    Attributes:
        closed: Nobody was asked for it: *error* is what others met, and what each that
            follows will end with.
    """

    query: Query
    search: Search | None = None
    error: ClientError | None = None
    closed: bool = False


@dataclass
class _Job:
    """A flow among others: what it waits for, and from when it may go on."""

    query: Query
    flow: Flow[Search]
    due_at: float
    heard: Heard | None = None  # None: it has not begun
    paused_at: float | None = None


Started = Callable[[Query, Running], None]


class Many:
    """Follows *queries*, at most *at_once* of them at a time.

    A query is taken when its turn has come, not before.  New ones wait while the headers
    of the last answer say that a limit is full, if that is within *patience*.  A refusal
    that all others would meet too is told for those that were not asked yet, and so is one of
    `FOR_NEW` that `FULL_AFTER` queries in a row have met.
    """

    def __init__(
        self,
        flows: Flows,
        queries: Iterable[Query | str],
        patience: Patience,
        *,
        at_once: int,
        timeout_s: float | None,
        started: Started | None,
    ) -> None:
        if at_once < 1:
            raise ValueError(f"at_once is {at_once}; at least one search has to run")
        self._flows = flows
        self._queries = map(as_query, queries)
        self._patience = patience
        self._at_once = at_once
        self._timeout_s = timeout_s
        self._started = started
        self._jobs: list[_Job] = []
        self._now = 0.0
        self._open_at = float("-inf")
        self._closed: ApiError | None = None
        self._full = 0  # queries in a row that ended with one of FOR_NEW

    def outcomes(self) -> Generator[Send | Pause | Outcome, Heard, None]:
        """Yield what is to be done, and outcomes in between; be sent what came of each."""
        self._now = (yield Pause(0)).at
        more = True
        while more or self._jobs:
            job = min(self._jobs, key=lambda job: job.due_at, default=None)
            room = more and len(self._jobs) < self._at_once
            if job is not None and job.due_at <= self._now:
                outcome = yield from self._step(job)
            elif room and (self._closed or self._open_at <= self._now):
                query = next(self._queries, None)
                more = query is not None
                outcome = self._taken(query) if query is not None else None
            else:
                dues = [job.due_at for job in self._jobs] + ([self._open_at] if room else [])
                self._now = (yield Pause(min(dues) - self._now)).at
                outcome = None
            if outcome is not None:
                self._now = (yield outcome).at

    def _taken(self, query: Query) -> Outcome | None:
        if self._closed is not None and not query.search:
            return Outcome(query, error=self._closed, closed=True)
        flow = self._flows.follow(query, self._timeout_s)
        self._jobs.append(_Job(query, flow, self._now))
        return None

    def _step(self, job: _Job) -> Generator[Send | Pause, Heard, Outcome | None]:
        """Let *job* do one thing; return how it ended if it did."""
        if job.paused_at is not None:
            job.heard, job.paused_at = Heard(job.paused_at, self._now), None
        try:
            wanted = next(job.flow) if job.heard is None else job.flow.send(job.heard)
        except StopIteration as end:
            self._jobs.remove(job)
            return Outcome(job.query, search=end.value)
        except ClientError as error:
            self._jobs.remove(job)
            self._note_refused(error)
            return Outcome(job.query, error=error)
        match wanted:
            case Send(call):
                job.heard = heard = yield wanted
                self._now = heard.at
                assert heard.reply is not None, "what is sent is answered"
                if call.method == "POST":
                    self._note_answered(heard.reply)
            case Pause(seconds):
                job.paused_at = self._now
                job.due_at = self._now + seconds
            case Begun(search):
                if self._started is not None:
                    self._started(job.query, search)
                job.heard = Heard(self._now, self._now)
        return None

    def _note_refused(self, error: ClientError) -> None:
        self._full += isinstance(error, FOR_NEW)
        if isinstance(error, FOR_ALL) or (
            isinstance(error, FOR_NEW) and self._full >= FULL_AFTER
        ):
            self._closed = error

    def _note_answered(self, reply: Reply | NoReply) -> None:
        if isinstance(reply, Reply) and reply.status < 300:
            self._full = 0
        limits = limits_of(reply)
        seconds = limits.full_for_s() if limits is not None else 0
        # A longer wait is told by a refusal: it says which limit, and costs nothing.
        if 0 < seconds <= self._patience.longest_s:
            self._open_at = self._now + seconds
