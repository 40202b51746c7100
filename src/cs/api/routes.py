"""The endpoints under ``/v1``."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from structlog import get_logger

from cs.api.admitting import Admitted, Admitting
from cs.api.body import Asked, read_contacts
from cs.api.errors import ApiError, json_response, whole_seconds
from cs.api.holds import Holds
from cs.api.in_time import PATIENCE, Patience, within
from cs.api.key_ring import KeyRing
from cs.api.limits import (
    CHECKS_PER_MINUTE,
    Check,
    Checks,
    KeysRead,
    MemoryChecks,
    daily_headers,
    hit_headers,
)
from cs.api.lines import PLACES, LineFull, Lines
from cs.api.record import POLL_S, poll_url, running_body, search_body, usage_body
from cs.clock import Clock
from cs.domain.key import INITIAL, MINUTE, PER_MINUTE, Key
from cs.domain.refusal import Refusal
from cs.eventlog.follow import patiently
from cs.eventlog.port import LogUnavailable
from cs.eventlog.streams import Streams
from cs.projections.reading import Found, Reading

log = get_logger()

#: SPEC.md section 8: how long a call with ``wait: true`` is held.
HOLD = timedelta(seconds=85)
#: Searches of one key that may stand in line: ten times what a minute allows.
SEARCHES_IN_LINE = 60

#: Admissions of a live search: without ``wait`` the answer is 202 (SPEC.md section 3).
_LIVE = frozenset({"started", "joined", "repeated"})


class Checked(msgspec.Struct, frozen=True):
    """What a counted check is answered with."""

    key: Key
    headers: Mapping[str, str]


@dataclass
class Api:
    """What the endpoints work with."""

    streams: Streams
    admitting: Admitting
    reading: Reading
    key_ring: KeyRing
    clock: Clock
    hold: timedelta = HOLD
    checks: Checks = field(default_factory=MemoryChecks)
    keys_read: KeysRead = field(default_factory=KeysRead)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    holds: Holds = field(default_factory=Holds)
    searches: Lines = field(default_factory=lambda: Lines(PLACES, SEARCHES_IN_LINE))
    reads: Lines = field(default_factory=lambda: Lines(PLACES, CHECKS_PER_MINUTE))
    patience: Patience = PATIENCE

    @property
    def held(self) -> int:
        """Return how many calls are held now."""
        return self.holds.held

    async def post_contacts(self, request: Request) -> Response:
        """``POST /contacts``: 200 with contacts, 202 with a running search."""
        began = self.clock.now()
        key_id: str = request.state.key_id
        asked = await read_contacts(request)
        admitted = await self._admitted(request, asked)
        admission = admitted.admission
        if admission.kind == "replayed":
            at = self.clock.now()
            check = await self.checks.take(key_id, at)
            if not check.taken:
                raise self._too_many_checks(check, admitted.key, at)
        if asked.wait and admission.kind != "cached":  # that one has ended
            if await self._hold(request, admission.search, began + self.hold):
                return Response()  # goes nowhere; the search runs on (CONTRACT.md H12)
            if not self.key_ring.opens(request.state.secret_hash, key_id):
                raise unauthorized(sent=True)
            return await self._answer(admitted, asked, key_id, None)
        if admission.kind in _LIVE:
            # It may have ended meanwhile; the answer is 202 all the same.
            return self._accepted(admitted, asked)
        return await self._answer(admitted, asked, key_id, admitted.key)

    async def get_search(self, request: Request) -> Response:
        """``GET /searches/{id}``: the search as it is now."""
        key_id: str = request.state.key_id
        async with self._check(key_id) as checked:
            search = request.path_params["id"]
            found = await self.reading.search(search, key_id, checked.key)
        if found is None:
            message = "no search with this id was made with this key"
            raise ApiError("not_found", message, headers=checked.headers)
        return json_response(search_body(found), headers=checked.headers)

    async def get_usage(self, request: Request) -> Response:
        """``GET /usage``: quota, used and remaining."""
        key_id: str = request.state.key_id
        async with self._check(key_id) as checked:
            return json_response(usage_body(checked.key), headers=checked.headers)

    async def _admitted(self, request: Request, asked: Asked) -> Admitted:
        key_id: str = request.state.key_id
        try:
            async with AsyncExitStack() as stack:
                async with within(self.patience.line_s):
                    await stack.enter_async_context(self.searches.place(key_id))
                admitted = await self.admitting.admit(
                    key_id, asked, request.state.request_id, self.patience
                )
                self.reading.admitted(key_id, admitted.admission.key_events)
                return admitted
        except LineFull as full:
            raise self._line_full(key_id) from full
        except Refusal as refusal:
            if refusal.code == "unauthorized":  # revoked a moment ago
                raise unauthorized(sent=True) from refusal
            raise await self._refused(refusal, key_id) from refusal

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

    async def _answer(
        self, admitted: Admitted, asked: Asked, key_id: str, known: Key | None
    ) -> Response:
        """Answer with the search as it is, or as admission knows it if the views are away.

        *known* is the key as it is, if it need not be read.
        """
        search = admitted.admission.search
        try:
            async with within(self.patience.answer_s):
                key = await patiently(partial(self._key, key_id)) if known is None else known
                found = await patiently(partial(self.reading.search, search, key_id, key))
        except LogUnavailable as error:
            log.warning("answered_by_admission", why=str(error))
            return self._accepted(admitted, asked)
        assert found is not None, "an admitted search is in the log"
        return self._told(found, key)

    def _told(self, found: Found, key: Key) -> Response:
        headers = daily_headers(key, self.clock.now())
        if found.body is not None:
            return json_response(search_body(found), headers=headers)
        return accepted(search_body(found), found.search, headers)

    def _accepted(self, admitted: Admitted, asked: Asked) -> Response:
        """Return the 202, which needs neither the log nor the views."""
        search = admitted.admission.search
        headers = daily_headers(admitted.key, self.clock.now())
        return accepted(running_body(search, asked.brand, admitted.key), search, headers)

    @asynccontextmanager
    async def _check(self, key_id: str) -> AsyncIterator[Checked]:
        """Count a status or usage check, answered inside.

        Raises:
            ApiError: ``rate_limited``: 120 a minute are used.
            LogUnavailable: It took too long.  It is not counted.
        """
        at = self.clock.now()
        async with within(self.patience.read_s):
            check = await self.checks.take(key_id, at)
            if not check.taken:
                key = self.keys_read.remembered(key_id) or await self._read(key_id)
                raise self._too_many_checks(check, key, at)
            try:
                async with self.reads.place(key_id):
                    key = await self._read(key_id)
                    yield Checked(key, daily_headers(key, at, check.window))
            except LineFull as full:
                await self.checks.take_back(key_id, check.at)
                raise self._line_full(key_id) from full
            except BaseException:
                await self.checks.take_back(key_id, check.at)
                raise

    def _too_many_checks(self, check: Check, key: Key, at: datetime) -> ApiError:
        window = check.window
        return ApiError(
            "rate_limited",
            f"{CHECKS_PER_MINUTE} status and usage checks per minute are allowed for a key",
            headers=hit_headers(CHECKS_PER_MINUTE, window.reset, key, at, window),
        )

    async def _key(self, key_id: str) -> Key:
        async with within(self.patience.read_s):
            return await self._read(key_id)

    async def _read(self, key_id: str) -> Key:
        key: Key = (await self.streams.key(key_id)).state
        self.keys_read.remember(key_id, key)
        return key

    def _line_full(self, key_id: str) -> ApiError:
        """Return what a call is told whose key has more calls waiting than a minute allows.

        ``rate_limited`` is true of it: those before it fill the minute's window, or are
        refused for what would refuse this one too.  They leave the window within a minute
        of being decided, which takes under a second.
        """
        reset = MINUTE + timedelta(seconds=1)
        message = "more calls of this key are waiting to be answered than a minute allows"
        key = self.keys_read.remembered(key_id) or INITIAL
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


def accepted(body: bytes, search: str, headers: Mapping[str, str]) -> Response:
    """Return the 202 of a running search."""
    told = {"Location": poll_url(search), "Retry-After": str(POLL_S)}
    return json_response(body, status=202, headers={**headers, **told})


def unauthorized(*, sent: bool) -> ApiError:
    """Return the 401; *sent* says whether a key came with the request (RFC 6750 3.1)."""
    challenge = 'Bearer error="invalid_token"' if sent else "Bearer"
    message = (
        "the API key is wrong or revoked"
        if sent
        else "no API key was sent; send `Authorization: Bearer <API_KEY>`"
    )
    return ApiError("unauthorized", message, headers={"WWW-Authenticate": challenge})
