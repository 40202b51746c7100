"""Admission as an append: decide on one version of key, brand and service, and expect it.

The decision is `cs.domain.admission`; here are the streams that it reads, the append, and
the search for what was stored when the append's answer is lost (contract H5).
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, reduce
from itertools import islice
from typing import ClassVar

import msgspec
from structlog import get_logger

from cs.api.body import ContactsRequest
from cs.api.keys import Caller
from cs.api.waiting import TimeLimits, within
from cs.domain.admission import Admission, AskSearch, Situation, admit
from cs.domain.brand.brand import Brand, brand_stream, stream_of
from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
)
from cs.domain.causation import RequestCause
from cs.domain.contact import Query
from cs.domain.key import Key, SearchAdmitted, SearchRepeated, SearchSettled, evolve
from cs.domain.messages import Event
from cs.domain.refusal import Refusal
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.port import (
    Append,
    AppendInDoubt,
    Ceiling,
    CeilingReached,
    DamagedEvent,
    LogUnavailable,
    RecordedEvent,
)
from cs.eventlog.streams import FoldedState, Streams
from cs.projections.reading import Reusable
from cs.runtime import failpoints
from cs.runtime.clock import Clock
from cs.runtime.ids import random_id

log = get_logger()

#: Characters of the random part of a lookup's id (40 bits).  It has to differ only from that
#: of a lookup with the same number on the same brand, in a log that was since restored.
NONCE = 8
#: One in so many of the lookups that may run, but 8 at least, may have waited for half of
#: their time without an answer of a stage: with more, work piles up, and what is started now
#: would end as `timeout`.
LATE_SHARE, LATE_LEAST = 10, 8
#: After so many times that time a lookup counts as late no more: its end will not be seen, as
#: of one whose stream is damaged, and it must not refuse callers for ever.
LATE_TIMES = 10
#: Answers of stages after which a lookup waits for the next.
ANSWERS = (
    *(BrandResolved, ContactsDiscovered, ContactsRanked),
    *(MailboxVerified, MailboxNotVerified, MailDomainChecked),
)


class StoredAdmission(msgspec.Struct, frozen=True):
    """An admission that is stored, and the key right after it.

    Attributes:
        body: What a reused lookup found, as it is sent, if it was read.
    """

    admission: Admission
    key: Key
    body: bytes | None = None


@dataclass
class _Call:
    """A call while it is admitted.

    Attributes:
        before: The key before the first append that was begun; ``None``: none was.
    """

    caller: Caller
    asked: ContactsRequest
    request_id: str
    search: str
    before: FoldedState[Key] | None = None


class SearchAdmission:
    """Decides and appends.

    Args:
        ceiling: Lookups the service may start per rolling 24 h; None: no ceiling.
        lookups: The lookups that run now, and whether more may.
        reusable: Returns the answer that reusing a lookup gives
            (`cs.projections.reading.Reading.reusable`).
    """

    def __init__(
        self,
        streams: Streams,
        clock: Clock,
        *,
        ceiling: int | None,
        deadline: timedelta,
        contacts: int,
        lookups: "RunningLookups",
        reusable: Callable[[str], Awaitable[Reusable]],
    ) -> None:
        self._streams = streams
        self._clock = clock
        self._ceiling = ceiling
        self._deadline = deadline
        self._contacts = contacts
        self._lookups = lookups
        self._reusable = reusable

    async def admit(
        self,
        caller: Caller,
        asked: ContactsRequest,
        request_id: str,
        time_limits: TimeLimits,
    ) -> StoredAdmission:
        """Admit *asked* for *caller*, or raise why not.

        Raises:
            Refusal: Nothing was stored and nothing counts.
            AppendInDoubt: Perhaps it is stored.
            LogUnavailable: Nothing was stored.
            Exception: Whatever else went wrong; a stored search was not found.
        """
        call = _Call(caller, asked, request_id, random_id("srch_"))
        try:
            async with within(time_limits.admit_s), self._streams.lock(caller.stream):
                return await self._streams.retry_on_conflict(partial(self._attempt, call))
        except Refusal:
            raise
        except Exception as error:
            if call.before is None:
                raise
            stored = await self._find_stored(call, call.before, time_limits.answer_s)
            if stored is not None:
                log.warning("admission_found_stored", exc_info=error)
                return stored
            # A log may commit after its answer was no longer waited for.
            if isinstance(error, AppendInDoubt) or isinstance(error.__cause__, TimeoutError):
                raise AppendInDoubt(str(error)) from error
            raise

    async def _attempt(self, call: _Call) -> StoredAdmission:
        """Read the streams, decide on what they say, and append the events.

        Raises:
            WrongExpectedVersion: One of the streams has moved meanwhile.
        """
        ask = self._ask(call)
        opens_at = await self._streams.log.ceiling_opens_at(Ceiling(ask.at, self._ceiling))
        key, brand, service = await asyncio.gather(
            self._streams.key(call.caller.key_id),
            self._streams.brand(ask.stream),
            self._streams.service(),
        )
        situation = Situation(
            key=key.state,
            brand=brand.state,
            by_name=await self._by_name(ask.query),
            paused=service.state.paused,
            ceiling_opens_at=opens_at,
            lookups_full=self._lookups.full,
        )
        admission = admit(ask, situation)
        body: bytes | None = None
        while (lookup := admission.charged_for) is not None:
            reused = await self._reused(lookup, ask)
            if reused.shows_somebody:
                body = reused.body
                break
            situation = msgspec.structs.replace(situation, unshown=situation.unshown | {lookup})
            admission = admit(ask, situation)
        after = reduce(evolve, admission.key_events, key.state)
        if admission.key_events:
            cause = RequestCause(id=call.request_id, key=call.caller.key_id)
            appends = [
                Append(call.caller.stream, key.version, admission.key_events, cause),
                Append(ask.stream, brand.version, admission.brand_events, cause),
            ]
            call.before = call.before or key
            last = await self._append(appends, ask, situation)
            self._streams.appended(
                call.caller.stream,
                key,
                after,
                events=len(admission.key_events),
                last=last - len(admission.brand_events),
            )
            failpoints.reach("admission.after-append")
        return StoredAdmission(admission, after, body)

    def _ask(self, call: _Call) -> AskSearch:
        return AskSearch(
            at=self._clock.now(),
            search=call.search,
            brand=call.asked.brand,
            query=call.asked.query,
            stream=brand_stream(call.asked.query),
            secret_hash=call.caller.secret_hash,
            nonce=random_id("", NONCE),
            idempotency=call.asked.idempotency,
            request=call.request_id,
            deadline=self._deadline,
            contacts=self._contacts,
        )

    async def _append(self, appends: list[Append], ask: AskSearch, situation: Situation) -> int:
        """Store *appends*, to the key and to the brand; return the last position.

        Raises:
            Refusal: ``at_capacity``: other nodes have reached the ceiling meanwhile.
        """
        failpoints.reach("admission.before-append")
        if not appends[1].events:
            return await self._streams.log.append(appends[:1])
        started = appends[1].events[0]
        assert isinstance(started, LookupStarted)
        try:
            with self._lookups.starting(started.lookup):
                return await self._streams.log.append(appends, Ceiling(ask.at, self._ceiling))
        except CeilingReached as reached:
            closed = msgspec.structs.replace(situation, ceiling_opens_at=reached.opens_at)
            admit(ask, closed)  # refuses
            raise

    async def _by_name(self, query: Query) -> Brand | None:
        """Return the brand asked without its domain, if both were sent (contract C1)."""
        if query.brand is None or query.domain is None:
            return None
        try:
            folded = await self._streams.brand(brand_stream(Query(query.brand)))
        except DamagedEvent:
            return None  # it is set aside; not to know of that search only costs another
        return folded.state

    async def _reused(self, lookup: str, ask: AskSearch) -> Reusable:
        """Return what *ask* would be charged for if *lookup* answered it.

        Raises:
            DamagedEvent: That is not known, nor could a lookup of that brand be started.
        """
        try:
            return await self._reusable(lookup)
        except DamagedEvent:
            if stream_of(lookup) == ask.stream:
                raise
            return Reusable(shows_somebody=False)  # as of `_by_name`, which is damaged
        except LogUnavailable:
            return Reusable(shows_somebody=True)  # the log is believed, as without views

    async def _find_stored(
        self, call: _Call, before: FoldedState[Key], within_s: float
    ) -> StoredAdmission | None:
        """Return what *call* has stored in its key's stream, ``None`` if nothing so far.

        The events of an append carry the request's id, so the stream shows whether it was
        stored.  It may still come, if the append may be under way.

        Raises:
            AppendInDoubt: The log cannot be read within *within_s* seconds.
        """
        try:
            async with within(within_s):
                newer = await self._streams.log.read(call.caller.stream, before.version)
        except LogUnavailable as error:
            raise AppendInDoubt(str(error)) from error
        found: Admission | None = None
        key = before.state
        for recorded in newer:
            match recorded.event:
                case SearchAdmitted(request=call.request_id, search=search):
                    found = Admission(kind="started", search=search)
                case SearchRepeated(request=call.request_id, search=search):
                    found = Admission(kind="repeated", search=search)
                case SearchSettled(cached=True, search=search) if (
                    found is not None and found.search == search
                ):
                    found = Admission(kind="cached", search=search)
                case _:
                    pass
            key = CATEGORIES["key"].evolve(key, recorded.event)
        return None if found is None else StoredAdmission(found, key)


class RunningLookups:
    """Give `on_events` every page of events; `full` answers without a database.

    A start counts from before its append until the event of its end comes, so that no number of
    callers at the same moment gets past the bound.

    Args:
        most: That may run at once.
        late_s: How long a lookup may wait for an answer, in seconds of real time.
        monotonic: Real time.

    Attributes:
        READS: Those events that it goes by.
    """

    READS: ClassVar[frozenset[type[Event]]] = frozenset(
        {LookupStarted, *ANSWERS, AttemptFailed, LookupFinished}
    )

    def __init__(
        self,
        most: int,
        late_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._late = max(most // LATE_SHARE, LATE_LEAST)
        self._late_s = late_s
        self._monotonic = monotonic
        self._unanswered: dict[str, float] = {}  # lookup -> since when, oldest first
        self._running: set[str] = set()
        self._starting: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether as many run as may, or too many of them are not taken up in time."""
        now = self._monotonic()
        while now - next(iter(self._unanswered.values()), now) > LATE_TIMES * self._late_s:
            del self._unanswered[next(iter(self._unanswered))]
        late = next(islice(self._unanswered.values(), self._late, None), math.inf)
        return len(self) >= self._most or now - late > self._late_s

    def __len__(self) -> int:
        return len(self._running) + len(self._starting)

    def load(self, lookups: Iterable[str]) -> None:
        """Take up the lookups that ran when the last process ended."""
        self._running.update(lookups)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        for recorded in page:
            match recorded.event:
                case LookupStarted(lookup=lookup):
                    self._starting.discard(lookup)
                    self._running.add(lookup)
                    self._unanswered.setdefault(lookup, self._monotonic())
                case AttemptFailed(lookup=lookup):  # it is tried again when it is due
                    self._unanswered.pop(lookup, None)
                case LookupFinished(lookup=lookup):
                    self._unanswered.pop(lookup, None)
                    self._running.discard(lookup)
                case event if isinstance(event, ANSWERS):
                    self._unanswered.pop(event.lookup, None)
                    self._unanswered[event.lookup] = self._monotonic()
                case _:
                    pass

    @contextmanager
    def starting(self, lookup: str) -> Iterator[None]:
        """Count *lookup*, whose id no other append has, until the event of its start comes."""
        self._starting.add(lookup)
        try:
            yield
        except BaseException:
            # Stored after all, its event comes like any other.
            self._starting.discard(lookup)
            raise
