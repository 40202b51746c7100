"""The endpoints under ``/v1``."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from structlog import get_logger

from cs.api import failures
from cs.api.admission import SearchAdmission, StoredAdmission
from cs.api.body import ContactsRequest, read_contacts
from cs.api.call_log import note_search
from cs.api.credentials import Caller, wrong_key
from cs.api.errors import ApiError, TooManyWaiting, json_response, whole_seconds
from cs.api.key_limiter import AT_ONCE_PER_KEY, KeyLimiter
from cs.api.key_ring import KeyRing
from cs.api.limits import (
    CHECKS_PER_MINUTE,
    Check,
    Checks,
    MemoryChecks,
    RecentKeys,
    daily_headers,
    hit_headers,
    too_many_checks,
    too_many_waiting,
)
from cs.api.long_polls import LongPolls
from cs.api.record import POLL_S, poll_url, running_body, search_body, usage_body
from cs.api.time_limits import TIME_LIMITS, TimeLimits, within
from cs.domain.key import INITIAL, Key
from cs.domain.refusal import Refusal
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.streams import Streams
from cs.projections.reading import Found, Reading
from cs.runtime.clock import Clock

log = get_logger()

#: Contract text 8: how long a call with ``wait: true`` is held.
HOLD = timedelta(seconds=85)
#: Searches of one key that may wait to be worked on: ten times what a minute allows.
MAX_WAITING_SEARCHES = 60

#: Admissions of a live search: without ``wait`` the answer is 202 (contract text 3).
_LIVE = frozenset({"started", "joined", "repeated"})


class Checked(msgspec.Struct, frozen=True):
    """What a counted check is answered with."""

    key: Key
    headers: Mapping[str, str]


@dataclass
class Api:
    """What the endpoints work with."""

    streams: Streams
    admission: SearchAdmission
    reading: Reading
    key_ring: KeyRing
    clock: Clock
    hold: timedelta = HOLD
    checks: Checks = field(default_factory=MemoryChecks)
    recent_keys: RecentKeys = field(default_factory=RecentKeys)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    long_polls: LongPolls = field(default_factory=LongPolls)
    search_limiter: KeyLimiter = field(
        default_factory=lambda: KeyLimiter(AT_ONCE_PER_KEY, MAX_WAITING_SEARCHES)
    )
    read_limiter: KeyLimiter = field(
        default_factory=lambda: KeyLimiter(AT_ONCE_PER_KEY, CHECKS_PER_MINUTE)
    )
    time_limits: TimeLimits = TIME_LIMITS

    @property
    def held(self) -> int:
        """Return how many calls are held now."""
        return self.long_polls.held

    async def post_contacts(self, request: Request) -> Response:
        """``POST /contacts``: 200 with contacts, 202 with a running search."""
        began = self.clock.now()
        caller: Caller = request.state.caller
        try:
            asked = await read_contacts(request, self.time_limits.body_s)
        except ApiError:
            await self.check_secret(caller)
            raise
        admitted = await self._admitted(request, asked)
        note_search(request.scope["state"], admitted)
        admission = admitted.admission
        if admission.kind == "replayed":
            at = self.clock.now()
            check = await self.checks.take(caller.key_id, at)
            if not check.taken:
                raise too_many_checks(check, admitted.key, at)
        return await self._answered(request, admitted, asked, began + self.hold)

    async def get_search(self, request: Request) -> Response:
        """``GET /searches/{id}``: the search as it is now."""
        caller: Caller = request.state.caller
        async with self._check(caller) as checked:
            search = request.path_params["id"]
            found = await self.reading.search(search, caller.key_id, checked.key)
        if found is None:
            message = "no search with this id was made with this key"
            raise ApiError("not_found", message, headers=checked.headers)
        return json_response(search_body(found), headers=checked.headers)

    async def get_usage(self, request: Request) -> Response:
        """``GET /usage``: quota, used and remaining."""
        caller: Caller = request.state.caller
        async with self._check(caller) as checked:
            return json_response(usage_body(checked.key), headers=checked.headers)

    async def check_secret(self, caller: Caller) -> None:
        """Read *caller*'s key before an answer that needs nothing of it.

        While it cannot be read, or many calls of that key wait to, memory has to do.

        Raises:
            ApiError: ``unauthorized``: the secret opens the key no more.
        """
        try:
            async with within(self.time_limits.read_s), self.read_limiter.slot(caller.key_id):
                self._demand_open(caller, await self._read(caller.key_id))
        except (TooManyWaiting, LogUnavailable):
            self._demand_not_shut(caller)

    def _demand_open(self, caller: Caller, key: Key) -> None:
        """Check that the caller's secret opens *key*, which was read since it called.

        Raises:
            ApiError: ``unauthorized``: it was rotated or revoked (contract H11), whether
                or not this process has heard of that.
        """
        if not key.opened_by(caller.secret_hash):
            raise self._turned_away(caller)

    def _demand_not_shut(self, caller: Caller) -> None:
        """As `_demand_open`, by what this process remembers of the key."""
        if self.recent_keys.refuses(caller.key_id, caller.secret_hash):
            raise self._turned_away(caller)

    def _turned_away(self, caller: Caller) -> ApiError:
        self.key_ring.forget(caller.secret_hash)
        return wrong_key()

    async def _admitted(self, request: Request, asked: ContactsRequest) -> StoredAdmission:
        caller: Caller = request.state.caller
        try:
            async with AsyncExitStack() as stack:
                async with within(self.time_limits.wait_s):
                    await stack.enter_async_context(self.search_limiter.slot(caller.key_id))
                failures.may_be_stored(request)
                admitted = await self.admission.admit(
                    caller, asked, request.state.request_id, self.time_limits
                )
                self.recent_keys.remember(caller.key_id, admitted.key)
                return admitted
        except TooManyWaiting as full:
            raise self._too_many_waiting(caller) from full
        except Refusal as refusal:
            if refusal.code == "unauthorized":
                raise self._turned_away(caller) from refusal
            raise await self._refused(refusal, caller.key_id) from refusal

    async def _answered(
        self,
        request: Request,
        admitted: StoredAdmission,
        asked: ContactsRequest,
        until: datetime,
    ) -> Response:
        """Answer for a search that is stored, whatever goes wrong from now on."""
        admission, key_id = admitted.admission, request.state.caller.key_id
        try:
            self.reading.admitted(key_id, admission.key_events)
            if asked.wait and admission.kind != "cached":  # that one has ended
                return await self._waited(request, admitted, asked, until)
            if admission.kind in _LIVE:
                # It may have ended meanwhile; the answer is 202 all the same.
                return self._accepted(admitted, asked)
            return await self._answer(request, admitted, asked, admitted.key)
        except ApiError:
            raise
        except asyncio.CancelledError:
            if not self.draining.is_set():
                raise
            log.warning("cut_off_answered_by_admission")
        except Exception:
            log.exception("failed_answered_by_admission")
        return self._from_memory(request, admitted, asked)

    async def _waited(
        self,
        request: Request,
        admitted: StoredAdmission,
        asked: ContactsRequest,
        until: datetime,
    ) -> Response:
        """Hold the call and answer it.

        While the service leaves, one whose search ran when last seen is answered at once
        and from memory (contract H14): thousands may be, and the log may be away.
        """
        search = admitted.admission.search
        if await self._hold(request, search, until):
            return Response()  # goes nowhere; the search runs on (contract H12)
        if self.draining.is_set() and any(r.search == search for r in admitted.key.running):
            return self._from_memory(request, admitted, asked)
        return await self._answer(request, admitted, asked, None)

    async def _hold(self, request: Request, search: str, until: datetime) -> bool:
        """Wait until *search* has ended, time is up, or the service or the caller leaves.

        Returns whether the caller has gone.
        """
        ends = (self.reading.until_settled(search), self.clock.sleep_until(until))
        return await self.long_polls.hold(
            request.state.caller.key_id, request.receive, ends, leaving=self.draining
        )

    async def _answer(
        self,
        request: Request,
        admitted: StoredAdmission,
        asked: ContactsRequest,
        known: Key | None,
    ) -> Response:
        """Answer with the search as it is, or as admission knows it if the views are away.

        *known* is the key as it is, if it need not be read.

        Raises:
            ApiError: ``unauthorized``: the secret opens the key no more (contract H11).
        """
        caller: Caller = request.state.caller
        search = admitted.admission.search
        try:
            async with within(self.time_limits.answer_s):
                key = (
                    await retry_while_unavailable(partial(self._key, caller.key_id))
                    if known is None
                    else known
                )
                self._demand_open(caller, key)
                found = await retry_while_unavailable(
                    partial(self.reading.search, search, caller.key_id, key, admitted.body)
                )
        except LogUnavailable as error:
            log.warning("answered_by_admission", why=str(error))
            self._demand_not_shut(caller)
            return self._accepted(admitted, asked)
        assert found is not None, "an admitted search is in the log"
        return self._told(found, key)

    def _told(self, found: Found, key: Key) -> Response:
        headers = daily_headers(key, self.clock.now())
        if found.body is not None:
            return json_response(search_body(found), headers=headers)
        return accepted(search_body(found), found.search, headers)

    def _from_memory(
        self, request: Request, admitted: StoredAdmission, asked: ContactsRequest
    ) -> Response:
        """Return the 202 of a call during which its key may have changed.

        Its usage is the newest that this process has seen.

        Raises:
            ApiError: ``unauthorized``: the secret opens the key no more (contract H11).
        """
        caller: Caller = request.state.caller
        self._demand_not_shut(caller)
        return self._accepted(admitted, asked, self.recent_keys.remembered(caller.key_id))

    def _accepted(
        self, admitted: StoredAdmission, asked: ContactsRequest, key: Key | None = None
    ) -> Response:
        """Return the 202, which needs neither the log nor the views."""
        search = admitted.admission.search
        key = key or admitted.key
        headers = daily_headers(key, self.clock.now())
        return accepted(running_body(search, asked.brand, key), search, headers)

    @asynccontextmanager
    async def _check(self, caller: Caller) -> AsyncIterator[Checked]:
        """Count a status or usage check, answered inside.

        One that fails is not counted, unless its count cannot be changed at once or the
        service leaves.

        Raises:
            ApiError: ``rate_limited``: 120 a minute are used; ``unauthorized``: the secret
                opens the key no more.
            LogUnavailable: It took too long.
        """
        key_id = caller.key_id
        at = self.clock.now()
        check: Check | None = None
        try:
            async with within(self.time_limits.read_s):
                check = await self._counted(caller, at)
                async with self.read_limiter.slot(key_id):
                    key = await self._read(key_id)
                    self._demand_open(caller, key)
                    yield Checked(key, daily_headers(key, at, check.window))
        except TooManyWaiting as full:
            await self._uncount(key_id, check)
            raise self._too_many_waiting(caller) from full
        except Exception:
            await self._uncount(key_id, check)
            raise

    async def _counted(self, caller: Caller, at: datetime) -> Check:
        check = await self.checks.take(caller.key_id, at)
        if not check.taken:
            key = await self._read_lately(caller.key_id)
            self._demand_open(caller, key)
            raise too_many_checks(check, key, at)
        return check

    async def _read_lately(self, key_id: str) -> Key:
        """Return the key as of a second ago at most; while the log is away, as last read."""
        known = self.recent_keys.remembered(key_id)
        if known is not None and not self.recent_keys.is_due(key_id, self.clock.monotonic()):
            return known
        try:
            return await self._read(key_id)
        except LogUnavailable:
            if known is None:
                raise
            return known

    async def _uncount(self, key_id: str, check: Check | None) -> None:
        if check is not None:
            with suppress(LogUnavailable):
                async with within(self.time_limits.uncount_s):
                    await self.checks.take_back(key_id, check.at)

    async def _key(self, key_id: str) -> Key:
        async with within(self.time_limits.read_s):
            return await self._read(key_id)

    async def _read(self, key_id: str) -> Key:
        key: Key = (await self.streams.key(key_id)).state
        self.recent_keys.remember(key_id, key)
        return key

    def _too_many_waiting(self, caller: Caller) -> ApiError:
        self._demand_not_shut(caller)
        known = self.recent_keys.remembered(caller.key_id)
        return too_many_waiting(known or INITIAL, self.clock.now())

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


def accepted(body: bytes, search: str, headers: Mapping[str, str]) -> Response:
    """Return the 202 of a running search."""
    told = {"Location": poll_url(search), "Retry-After": str(POLL_S)}
    return json_response(body, status=202, headers={**headers, **told})
