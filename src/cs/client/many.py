"""Many searches at once, and politely: as the limits of the key allow, one call at a time."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

import msgspec

from cs.client.calls import NoReply, Query, Reply, limits_of
from cs.client.errors import (
    ApiError,
    AtCapacity,
    BadRequest,
    ClientError,
    InFlight,
    NotFound,
    NotThisApi,
    Paused,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    Unreachable,
)
from cs.client.flows import Flow, Flows, Send, StepResult, WaitFor
from cs.client.records import Running, Search

#: Contract text 8: new-brand searches of one key that may run at once.
AT_ONCE = 2
#: Errors that every other query would end with as well.
REFUSES_ALL = (Unauthorized, QuotaExceeded, RateLimited, Paused)
#: Errors of new brands only, for want of room.  One says nothing of the next query: a brand
#: to be reused is still answered.
REFUSES_NEW = (AtCapacity, InFlight)
#: Of those in a row, after which there is taken to be no room for anything.
FULL_AFTER = 3
#: Outcomes in a row that something else than the service answers; so no service is there.
ABSENT_AFTER = 3


class Outcome(msgspec.Struct, frozen=True):
    """How one of many queries ended: *search*, or the *error* instead of it.

    Attributes:
        closed: No call was made for it: *error* is what others met, and what each that
            follows will end with.
    """

    query: Query
    search: Search | None = None
    error: ClientError | None = None
    closed: bool = False

    @property
    def is_final(self) -> bool:
        """Whether it is finished: asked again, it would end the same."""
        match self.error:
            case None:
                return True
            case NotFound() as error:  # of no search, it is the address that is wrong
                return bool(self.query.search) or error.search is not None
            case error:
                return isinstance(error, BadRequest)

    @property
    def closes_others(self) -> bool:
        """Whether every new search would meet the same error now."""
        return self.closed or isinstance(self.error, REFUSES_ALL)


class AbsenceDetector:
    """Finds out that no service is at the address, or none for this key.

    Then the other queries would only wait as long in vain.
    """

    def __init__(self) -> None:
        self._foreign = 0  # outcomes in a row that something else answered

    def note(self, outcome: Outcome) -> bool:
        """Take note of the next outcome; return whether no service is there."""
        error = outcome.error
        self._foreign = self._foreign + 1 if isinstance(error, NotThisApi) else 0
        absent = isinstance(error, Unreachable | NotFound | Unauthorized)
        return not outcome.is_final and (absent or self._foreign >= ABSENT_AFTER)


@dataclass
class _Job:
    """A flow among others: what it waits for, and from when it may go on."""

    query: Query
    flow: Flow[Search]
    due_at: float
    result: StepResult | None = None  # of the step before; None: it has not begun
    paused_at: float | None = None


OnStarted = Callable[[Query, Running], None]


class ManySearches:
    """Follows *queries*, at most *at_once* of them at a time.

    A query is taken when its turn has come, not before.  New ones wait while the headers
    of the last answer say that a limit is full, if that is within the patience of *flows*.
    A refusal that all others would meet too ends those that were not asked yet, and so does
    one of `REFUSES_NEW` that `FULL_AFTER` queries in a row have met.  A query with
    ``search`` or ``asked_at`` is asked all the same: the service looks for what it knows
    before it refuses (contract O1 to O11).
    """

    def __init__(
        self,
        flows: Flows,
        queries: Iterable[Query | str],
        at_once: int = AT_ONCE,
        timeout_s: float | None = None,
        started: OnStarted | None = None,
    ) -> None:
        if at_once < 1:
            raise ValueError(f"at_once is {at_once}; at least one search has to run")
        self._flows = flows
        self._queries = (Query(each) if isinstance(each, str) else each for each in queries)
        self._at_once = at_once
        self._timeout_s = timeout_s
        self._started = started
        self._jobs: list[_Job] = []
        self._ended: list[Outcome] = []  # not yet yielded
        self._now = 0.0
        self._open_at = float("-inf")
        self._closed: ApiError | None = None
        self._refused_in_a_row = 0  # queries in a row that ended with one of REFUSES_NEW

    def outcomes(self) -> Generator[Send | WaitFor | Outcome, StepResult, None]:
        """Yield what is to be done, and outcomes in between; be sent what came of each."""
        self._now = (yield WaitFor(0)).at
        more = True
        while more or self._jobs:
            job = min(self._jobs, key=lambda job: job.due_at, default=None)
            room = more and len(self._jobs) < self._at_once
            if job is not None and job.due_at <= self._now:
                yield from self._step(job)
            elif room and (self._closed or self._open_at <= self._now):
                query = next(self._queries, None)
                more = query is not None
                if query is not None:
                    self._begin(query)
            else:
                dues = [job.due_at for job in self._jobs] + ([self._open_at] if room else [])
                self._now = (yield WaitFor(min(dues) - self._now)).at
            while self._ended:
                self._now = (yield self._ended.pop(0)).at

    def _begin(self, query: Query) -> None:
        if self._closed is not None and not query.search and query.asked_at is None:
            self._ended.append(Outcome(query, error=self._closed, closed=True))
            return

        def started(search: Running) -> None:
            if self._started is not None:
                self._started(query, search)

        flow = self._flows.follow(query, self._timeout_s, started)
        self._jobs.append(_Job(query, flow, self._now))

    def _step(self, job: _Job) -> Generator[Send | WaitFor, StepResult, None]:
        """Let *job* do one thing."""
        if job.paused_at is not None:
            job.result, job.paused_at = StepResult(job.paused_at, self._now), None
        try:
            step = next(job.flow) if job.result is None else job.flow.send(job.result)
        except StopIteration as end:
            self._jobs.remove(job)
            self._ended.append(Outcome(job.query, search=end.value))
            return
        except ClientError as error:
            self._jobs.remove(job)
            self._note_error(error)
            self._ended.append(Outcome(job.query, error=error))
            return
        match step:
            case Send(call):
                job.result = result = yield step
                self._now = result.at
                assert result.reply is not None, "what is sent is answered"
                if call.method == "POST":
                    self._note_reply(result.reply)
            case WaitFor(seconds):
                job.paused_at = self._now
                job.due_at = self._now + seconds

    def _note_error(self, error: ClientError) -> None:
        self._refused_in_a_row += isinstance(error, REFUSES_NEW)
        if isinstance(error, REFUSES_ALL) or (
            isinstance(error, REFUSES_NEW) and self._refused_in_a_row >= FULL_AFTER
        ):
            self._closed = error

    def _note_reply(self, reply: Reply | NoReply) -> None:
        if isinstance(reply, Reply) and reply.status < 300:
            self._refused_in_a_row = 0
        limits = limits_of(reply)
        seconds = limits.full_for_s() if limits is not None else 0
        # A longer wait is left to a refusal: it says which limit, and costs nothing.
        if 0 < seconds <= self._flows.patience.longest_s:
            self._open_at = self._now + seconds
