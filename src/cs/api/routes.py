"""The endpoints under ``/v1``."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from cs.api.admitting import Admitted, Admitting
from cs.api.body import read_contacts
from cs.api.errors import ApiError, json_response, whole_seconds
from cs.api.holds import Holds
from cs.api.key_ring import KeyRing
from cs.api.limits import CHECKS_PER_MINUTE, Checks, daily_headers, hit_headers
from cs.api.lines import PLACES, LineFull, Lines
from cs.api.record import POLL_S, as_running, poll_url, search_body, usage_body
from cs.clock import Clock
from cs.domain.key import INITIAL, MINUTE, PER_MINUTE, Key
from cs.domain.refusal import Refusal
from cs.eventlog.follow import patiently
from cs.eventlog.streams import Streams
from cs.projections.reading import Found, Reading

#: SPEC.md section 8: how long a call with ``wait: true`` is held.
HOLD = timedelta(seconds=85)
#: Searches of one key that may stand in line: ten times what a minute allows.
SEARCHES_IN_LINE = 60

#: Admissions of a live search: without ``wait`` the answer is 202 (SPEC.md section 3).
_LIVE = frozenset({"started", "joined", "repeated"})


@dataclass
class Api:
    """What the endpoints work with."""

    streams: Streams
    admitting: Admitting
    reading: Reading
    key_ring: KeyRing
    clock: Clock
    hold: timedelta = HOLD
    checks: Checks = field(default_factory=Checks)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    holds: Holds = field(default_factory=Holds)
    searches: Lines = field(default_factory=lambda: Lines(PLACES, SEARCHES_IN_LINE))
    reads: Lines = field(default_factory=lambda: Lines(PLACES, CHECKS_PER_MINUTE))

    @property
    def held(self) -> int:
        """Return how many calls are held now."""
        return self.holds.held

    async def post_contacts(self, request: Request) -> Response:
        """``POST /contacts``: 200 with contacts, 202 with a running search."""
        began = self.clock.now()
        key_id: str = request.state.key_id
        asked = await read_contacts(request)
        try:
            async with self.searches.place(key_id):
                admitted = await self.admitting.admit(key_id, asked, request.state.request_id)
        except LineFull as full:
            raise self._line_full(key_id) from full
        except Refusal as refusal:
            if refusal.code == "unauthorized":  # revoked a moment ago
                raise unauthorized(sent=True) from refusal
            raise await self._refused(refusal, key_id) from refusal
        if admitted.admission.kind == "replayed":
            await self._count_check(key_id)
        if asked.wait:
            if await self._hold(request, admitted.admission.search, began + self.hold):
                return Response()  # goes nowhere; the search runs on (CONTRACT.md H12)
            if not self.key_ring.opens(request.state.secret_hash, key_id):
                raise unauthorized(sent=True)
        found = await self._found(admitted, key_id)
        if not asked.wait and admitted.admission.kind in _LIVE:
            found = as_running(
                found
            )  # it may have ended meanwhile; the answer is 202 all the same
        return await self._answer(found, key_id)

    async def get_search(self, request: Request) -> Response:
        """``GET /searches/{id}``: the search as it is now."""
        key_id: str = request.state.key_id
        headers = await self._count_check(key_id)
        async with self.reads.place(key_id):
            found = await self.reading.search(request.path_params["id"], key_id)
        if found is None:
            message = "no search with this id was made with this key"
            raise ApiError("not_found", message, headers=headers)
        return json_response(search_body(found), headers=headers)

    async def get_usage(self, request: Request) -> Response:
        """``GET /usage``: quota, used and remaining."""
        key_id: str = request.state.key_id
        headers = await self._count_check(key_id)
        async with self.reads.place(key_id):
            row = await self.reading.usage(key_id)
        assert row is not None, "an authenticated key was issued"
        return json_response(usage_body(row), headers=headers)

    async def _hold(self, request: Request, search: str, until: datetime) -> bool:
        """Wait until *search* has ended, time is up, or the service or the caller leaves.

        Returns whether the caller has gone.
        """
        key_id: str = request.state.key_id
        with self.holds.place(key_id) as placed:
            if not placed or self.draining.is_set():
                return False
            gone = asyncio.ensure_future(_gone(request))
            waits = [
                gone,
                asyncio.ensure_future(self.reading.until_settled(search)),
                asyncio.ensure_future(self.clock.sleep_until(until)),
                asyncio.ensure_future(self.draining.wait()),
            ]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                return gone.done()
            finally:
                for wait in waits:
                    wait.cancel()
                await asyncio.gather(*waits, return_exceptions=True)

    async def _found(self, admitted: Admitted, key_id: str) -> Found:
        """Return the search as it is; it is stored, so this waits as long as it takes."""
        search = admitted.admission.search
        found = await patiently(lambda: self.reading.search(search, key_id))
        assert found is not None, "an admitted search is in the log"
        return found

    async def _answer(self, found: Found, key_id: str) -> Response:
        key = await patiently(lambda: self._key(key_id))
        headers = dict(daily_headers(key, self.clock.now()))
        if found.row.status != "running":
            return json_response(search_body(found), headers=headers)
        headers["Location"] = poll_url(found.search)
        headers["Retry-After"] = str(POLL_S)
        return json_response(search_body(found), status=202, headers=headers)

    async def _count_check(self, key_id: str) -> Mapping[str, str]:
        """Count a status or usage check; return the headers of its answer.

        Raises:
            ApiError: ``rate_limited``: 120 a minute are used.
        """
        at = self.clock.now()
        window = self.checks.window(key_id, at)
        if window.remaining == 0:
            key = self.checks.remembered(key_id) or await self._key(key_id)
            raise ApiError(
                "rate_limited",
                f"{CHECKS_PER_MINUTE} status and usage checks per minute are allowed for a key",
                headers=hit_headers(CHECKS_PER_MINUTE, window.reset, key, at, window),
            )
        self.checks.count(key_id, at)
        try:
            async with self.reads.place(key_id):
                key = await self._key(key_id)
        except LineFull as full:
            self.checks.take_back(key_id, at)
            raise self._line_full(key_id) from full
        except BaseException:
            self.checks.take_back(key_id, at)
            raise
        return daily_headers(key, at, self.checks.window(key_id, at))

    async def _key(self, key_id: str) -> Key:
        key: Key = (await self.streams.key(key_id)).state
        self.checks.remember(key_id, key)
        return key

    def _line_full(self, key_id: str) -> ApiError:
        """Return what a call is told whose key has more calls waiting than a minute allows.

        ``rate_limited`` is true of it: those before it fill the minute's window, or are
        refused for what would refuse this one too.  They leave the window within a minute
        of being decided, which takes under a second.
        """
        reset = MINUTE + timedelta(seconds=1)
        message = "more calls of this key are waiting to be answered than a minute allows"
        key = self.checks.remembered(key_id) or INITIAL
        headers = hit_headers(PER_MINUTE, reset, key, self.clock.now())
        return ApiError("rate_limited", message, headers=headers)

    async def _refused(self, refusal: Refusal, key_id: str) -> ApiError:
        headers: dict[str, str] = {}
        at = self.clock.now()
        if refusal.retry_after is not None:
            headers["Retry-After"] = str(whole_seconds(refusal.retry_after))
        if refusal.limit is not None and refusal.retry_after is not None:
            key = await self._key(key_id)
            headers |= hit_headers(refusal.limit[0], refusal.retry_after, key, at)
        elif refusal.code == "at_capacity":
            key = await self._key(key_id)
            headers |= daily_headers(key, at)
        return ApiError(refusal.code, refusal.message, headers=headers)


async def _gone(request: Request) -> None:
    """Return when the caller of *request*, whose body was read, has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def unauthorized(*, sent: bool) -> ApiError:
    """Return the 401; *sent* says whether a key came with the request (RFC 6750 3.1)."""
    challenge = 'Bearer error="invalid_token"' if sent else "Bearer"
    message = (
        "the API key is wrong or revoked"
        if sent
        else "no API key was sent; send `Authorization: Bearer <API_KEY>`"
    )
    return ApiError("unauthorized", message, headers={"WWW-Authenticate": challenge})
