"""Admission as an append: decide on one version of everything, store with it expected."""

import asyncio
from datetime import datetime, timedelta

import msgspec

from cs import failpoints
from cs.api.body import Asked
from cs.api.lookups_running import LookupsRunning
from cs.clock import Clock
from cs.domain.admission import Admission, AskSearch, Situation, admit
from cs.domain.brand import Brand
from cs.domain.brand_events import LookupStarted
from cs.domain.brand_stream import brand_stream
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.port import Append, Ceiling, CeilingReached, LogUnavailable
from cs.eventlog.streams import Streams
from cs.ids import random_id


class Admitted(msgspec.Struct, frozen=True):
    admission: Admission
    position: int  # the views must reflect it before the caller is answered; 0: nothing new


class Admitting:
    """Decides and appends.

    Args:
        ceiling: Lookups the service may start per rolling 24 h; None: no ceiling.
        lookups: What runs now, and whether more may.
    """

    def __init__(
        self,
        streams: Streams,
        clock: Clock,
        *,
        ceiling: int | None,
        deadline: timedelta,
        contacts: int,
        lookups: LookupsRunning,
    ) -> None:
        self._streams = streams
        self._clock = clock
        self._ceiling = ceiling
        self._deadline = deadline
        self._contacts = contacts
        self._lookups = lookups

    async def admit(self, key_id: str, asked: Asked, request_id: str) -> Admitted:
        """Admit *asked* on *key_id*, or raise why not.

        Raises:
            Refusal: Nothing was stored and nothing counts.
            LogUnavailable: Nothing was stored.
        """
        search = random_id("srch_")
        stream = f"key-{key_id}"

        async def attempt() -> Admitted:
            return await self._attempt(key_id, asked, search, request_id)

        async with self._streams.holding(stream):
            before = (await self._streams.key(key_id)).version
            try:
                return await self._streams.retrying(attempt)
            except LogUnavailable:
                stored = await self._stored(stream, before, request_id)
                if stored is None:
                    raise
                return stored

    async def _attempt(
        self, key_id: str, asked: Asked, search: str, request_id: str
    ) -> Admitted:
        at = self._clock.now()
        ask = AskSearch(
            at=at,
            search=search,
            brand=asked.brand,
            query=asked.query,
            stream=brand_stream(asked.query),
            idempotency=asked.idempotency,
            request=request_id,
            deadline=self._deadline,
            contacts=self._contacts,
        )
        opens_at = await self._opens_at(at)
        key, brand, by_name, service = await asyncio.gather(
            self._streams.key(key_id),
            self._streams.brand(ask.stream),
            self._by_name(asked.query),
            self._streams.service(),
        )
        situation = Situation(
            key=key.state,
            brand=brand.state,
            by_name=by_name,
            paused=service.state.paused,
            ceiling_opens_at=opens_at,
            lookups_full=self._lookups.full,
        )
        admission = admit(ask, situation)
        if not admission.key_events:
            return Admitted(admission, 0)
        appends = [Append(f"key-{key_id}", key.version, admission.key_events)]
        failpoints.reach("admission.before-append")
        if not admission.brand_events:
            position = await self._streams.log.append(appends)
            failpoints.reach("admission.after-append")
            return Admitted(admission, position)
        appends.append(Append(ask.stream, brand.version, admission.brand_events))
        started = admission.brand_events[0]
        assert isinstance(started, LookupStarted)
        try:
            with self._lookups.starting(started.lookup):
                position = await self._streams.log.append(appends, Ceiling(at, self._ceiling))
        except CeilingReached as reached:
            closed = msgspec.structs.replace(situation, ceiling_opens_at=reached.opens_at)
            admit(ask, closed)  # refuses
            raise
        failpoints.reach("admission.after-append")
        return Admitted(admission, position)

    async def _opens_at(self, at: datetime) -> datetime | None:
        return await self._streams.log.ceiling_opens_at(Ceiling(at, self._ceiling))

    async def _by_name(self, query: Query) -> Brand | None:
        """Return the brand asked without its domain, if both were given (CONTRACT.md C1)."""
        if query.brand is None or query.domain is None:
            return None
        folded = await self._streams.brand(brand_stream(Query(query.brand)))
        return folded.state

    async def _stored(self, stream: str, after: int, request_id: str) -> Admitted | None:
        """Find out whether an append whose answer was lost was stored (CONTRACT.md H5)."""
        found: Admitted | None = None
        for recorded in await self._streams.log.read(stream, after):
            match recorded.event:
                case SearchAdmitted(search=search, request=request) if request == request_id:
                    found = Admitted(
                        Admission(kind="started", search=search), recorded.position
                    )
                case SearchRepeated(search=search, request=request) if request == request_id:
                    found = Admitted(
                        Admission(kind="repeated", search=search), recorded.position
                    )
                case SearchSettled(search=search, cached=True) if (
                    found is not None and found.admission.search == search
                ):
                    found = Admitted(Admission(kind="cached", search=search), recorded.position)
                case _:
                    pass
        return found
