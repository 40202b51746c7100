"""Admission as an append: decide on one version of key, brand and service, and expect it.

The decision is `cs.domain.admission`; here are the streams that it reads, the append, and
what happens when that loses a race or its answer is lost (`cs.api.lost_answer`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import reduce

import msgspec
from structlog import get_logger

from cs.api.body import ContactsRequest
from cs.api.credentials import Caller
from cs.api.lost_answer import find_stored, may_be_under_way
from cs.api.running_lookups import RunningLookups
from cs.api.stored_admission import StoredAdmission
from cs.api.time_limits import TIME_LIMITS, TimeLimits, within
from cs.domain.admission import Admission, AskSearch, Situation, admit
from cs.domain.brand.brand import Brand, brand_stream, stream_of
from cs.domain.brand.events import LookupStarted
from cs.domain.causation import RequestCause
from cs.domain.contact import Query
from cs.domain.key import Key, evolve
from cs.domain.refusal import Refusal
from cs.domain.service import Service
from cs.eventlog.categories import SERVICE
from cs.eventlog.errors import (
    AppendInDoubt,
    CeilingReached,
    DamagedEvent,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.eventlog.port import Append, Ceiling
from cs.eventlog.streams import FoldedState, Streams
from cs.projections.reading import Reusable
from cs.runtime import failpoints
from cs.runtime.clock import Clock
from cs.runtime.ids import RandomIds

log = get_logger()

#: Characters of the random part of a lookup's id (40 bits).  It has to differ only from that
#: of a lookup with the same number on the same brand, in a log that was since restored.
NONCE = 8


class SearchAdmission:
    """Decides and appends.

    Args:
        ceiling: Lookups the service may start per rolling 24 h; None: no ceiling.
        lookups: What runs now, and whether more may.
        reusable: What reusing a lookup is answered with, and whether anybody is in it
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
        lookups: RunningLookups,
        reusable: Callable[[str, int | None], Awaitable[Reusable]],
    ) -> None:
        self._streams = streams
        self._clock = clock
        self._ceiling = ceiling
        self._deadline = deadline
        self._contacts = contacts
        self._lookups = lookups
        self._reusable = reusable
        self._ids = RandomIds()

    async def admit(
        self,
        caller: Caller,
        asked: ContactsRequest,
        request_id: str,
        time_limits: TimeLimits = TIME_LIMITS,
    ) -> StoredAdmission:
        """Admit *asked* for *caller*, or raise why not.

        Raises:
            Refusal: Nothing was stored and nothing counts.
            AppendInDoubt: Perhaps it is stored.
            LogUnavailable: Nothing was stored.
            Exception: Whatever else went wrong; what was stored was not found.
        """
        search = self._ids.new("srch_")
        stream = f"key-{caller.key_id}"
        begun = asyncio.Event()
        before: FoldedState[Key] | None = None
        fresh: FoldedState[Key] | None = None

        async def attempt() -> StoredAdmission:
            nonlocal fresh
            key, fresh = fresh, None  # good for one try: whoever loses a race reads it again
            return await self._attempt(caller, asked, search, request_id, begun=begun, key=key)

        try:
            async with within(time_limits.admit_s), self._streams.lock(stream):
                before = self._streams.remembered(stream)
                if before is None:
                    before = fresh = await self._streams.key(caller.key_id)
                ask = self._ask(caller, asked, search, request_id)
                call = RequestCause(id=request_id, key=caller.key_id)
                admitted = await self._reuse_remembered(ask, before, call, begun=begun)
                if admitted is not None:
                    return admitted
                if fresh is None:
                    before = fresh = await self._streams.key(caller.key_id)
                return await self._streams.retry_on_conflict(attempt)
        except Refusal:
            raise
        except Exception as error:
            if before is None or not begun.is_set():
                raise
            stored = await find_stored(
                self._streams.log, stream, before, request_id, within_s=time_limits.answer_s
            )
            if stored is not None:
                log.warning("admission_found_stored", exc_info=error)
                return stored
            if may_be_under_way(error):
                raise AppendInDoubt(str(error)) from error
            raise

    async def _attempt(
        self,
        caller: Caller,
        asked: ContactsRequest,
        search: str,
        request_id: str,
        *,
        begun: asyncio.Event,
        key: FoldedState[Key] | None,
    ) -> StoredAdmission:
        ask = self._ask(caller, asked, search, request_id)
        opens_at = await self._opens_at(ask.at)
        if key is None:
            key = await self._streams.key(caller.key_id)
        brand, by_name, service = await self._beside_key(ask.stream, asked.query)
        situation = Situation(
            key=key.state,
            brand=brand.state,
            by_name=by_name,
            paused=service.state.paused,
            ceiling_opens_at=opens_at,
            lookups_full=self._lookups.full,
        )
        admission, situation, body = await self._decide(ask, situation)
        admitted = StoredAdmission(
            admission, reduce(evolve, admission.key_events, key.state), body
        )
        if admission.key_events:
            call = RequestCause(id=request_id, key=caller.key_id)
            appends = [Append(f"key-{caller.key_id}", key.version, admission.key_events, call)]
            if admission.brand_events:
                appends.append(Append(ask.stream, brand.version, admission.brand_events, call))
            failpoints.reach("admission.before-append")
            begun.set()
            last = await self._append(appends, ask, situation, admission)
            self._note_appended(key, appends[0], admitted, last - len(admission.brand_events))
        return admitted

    def _note_appended(
        self, key: FoldedState[Key], append: Append, admitted: StoredAdmission, last: int
    ) -> None:
        """Remember the key after *append*, whose last event is at the position *last*."""
        events = len(append.events)
        self._streams.appended(append.stream, key, admitted.key, events=events, last=last)
        failpoints.reach("admission.after-append")

    def _ask(
        self, caller: Caller, asked: ContactsRequest, search: str, request_id: str
    ) -> AskSearch:
        return AskSearch(
            at=self._clock.now(),
            search=search,
            brand=asked.brand,
            query=asked.query,
            stream=brand_stream(asked.query),
            secret_hash=caller.secret_hash,
            nonce=self._ids.new("", NONCE),
            idempotency=asked.idempotency,
            request=request_id,
            deadline=self._deadline,
            contacts=self._contacts,
        )

    async def _reuse_remembered(
        self, ask: AskSearch, key: FoldedState[Key], call: RequestCause, *, begun: asyncio.Event
    ) -> StoredAdmission | None:
        """Admit *ask* if by what is in memory an earlier lookup answers it; else ``None``.

        Where the log is asked over a network, this is one question less for each stream: the
        append expects key, brand and service as remembered.  If one is no longer so,
        nothing is stored, and whoever asks reads them.  Memory refuses nobody.
        """
        brand = self._streams.remembered(ask.stream)
        service = self._streams.remembered(SERVICE)
        if brand is None or service is None or None not in (ask.query.brand, ask.query.domain):
            return None
        situation = Situation(key=key.state, brand=brand.state, paused=service.state.paused)
        try:
            admission = admit(ask, situation)
        except Refusal:
            return None
        if admission.kind != "cached":
            return None
        body = None
        if admission.charged_for is not None:
            of_brand = stream_of(admission.charged_for) == ask.stream
            changed_at = brand.position if of_brand else None
            reused = await self._reused(admission.charged_for, ask, changed_at)
            if not reused.shows_somebody:
                return None
            body = reused.body
        of_key = Append(f"key-{call.key}", key.version, admission.key_events, call)
        unchanged = (
            Append(ask.stream, brand.version, ()),
            Append(SERVICE, service.version, ()),
        )
        failpoints.reach("admission.before-append")
        begun.set()
        try:
            last = await self._streams.log.append([of_key, *unchanged])
        except WrongExpectedVersion:
            begun.clear()
            return None
        after = reduce(evolve, admission.key_events, key.state)
        admitted = StoredAdmission(admission, after, body)
        self._note_appended(key, of_key, admitted, last)
        return admitted

    async def _beside_key(
        self, stream: str, query: Query
    ) -> tuple[FoldedState[Brand], Brand | None, FoldedState[Service]]:
        """Return the brand of *stream*, the brand asked without its domain, and the service."""
        return await asyncio.gather(
            self._streams.brand(stream), self._by_name(query), self._streams.service()
        )

    async def _decide(
        self, ask: AskSearch, situation: Situation
    ) -> tuple[Admission, Situation, bytes | None]:
        """Admit *ask*; a lookup that would be reused has to show somebody.

        Returns:
            The admission, the situation that it was decided in, and what a reused lookup is
            answered with, if it was read.
        """
        admission = admit(ask, situation)
        while (lookup := admission.charged_for) is not None:
            reused = await self._reused(lookup, ask)
            if reused.shows_somebody:
                return admission, situation, reused.body
            situation = msgspec.structs.replace(situation, unshown=situation.unshown | {lookup})
            admission = admit(ask, situation)
        return admission, situation, None

    async def _append(
        self,
        appends: Sequence[Append],
        ask: AskSearch,
        situation: Situation,
        admission: Admission,
    ) -> int:
        """Store *appends*, which start a lookup if *admission* does; return the last position.

        Raises:
            Refusal: ``at_capacity``: other nodes have reached the ceiling meanwhile.
        """
        if not admission.brand_events:
            return await self._streams.log.append(appends)
        started = admission.brand_events[0]
        assert isinstance(started, LookupStarted)
        try:
            with self._lookups.starting(started.lookup):
                return await self._streams.log.append(appends, Ceiling(ask.at, self._ceiling))
        except CeilingReached as reached:
            closed = msgspec.structs.replace(situation, ceiling_opens_at=reached.opens_at)
            admit(ask, closed)  # refuses
            raise

    async def _opens_at(self, at: datetime) -> datetime | None:
        return await self._streams.log.ceiling_opens_at(Ceiling(at, self._ceiling))

    async def _by_name(self, query: Query) -> Brand | None:
        """Return the brand asked without its domain, if both were sent (contract C1)."""
        if query.brand is None or query.domain is None:
            return None
        try:
            folded = await self._streams.brand(brand_stream(Query(query.brand)))
        except DamagedEvent:
            return None  # it is set aside; not to know of that search only costs another
        return folded.state

    async def _reused(
        self, lookup: str, ask: AskSearch, changed_at: int | None = None
    ) -> Reusable:
        """Return what *ask* would be charged for if *lookup* answered it.

        *changed_at* is as that of `cs.projections.reading.Reading.reusable`.

        Raises:
            DamagedEvent: That is not known, nor could a lookup of that brand be started.
        """
        try:
            return await self._reusable(lookup, changed_at)
        except DamagedEvent:
            if stream_of(lookup) == ask.stream:
                raise
            return Reusable(shows_somebody=False)  # as of `_by_name`, which is damaged
        except LogUnavailable:
            return Reusable(shows_somebody=True)  # the log is believed, as without views
