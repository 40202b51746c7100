"""``POST /contacts``: read the body, admit the search, answer.

The gate has found the caller's key (`cs.api.app`).  Whether the secret opens it now is decided
where the key is read: in admission, or in the check before a refusal that reads nothing else.
A search that is stored is always answered, whatever goes wrong afterwards.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from structlog import get_logger

from cs.api.admission import StoredAdmission
from cs.api.api import Api
from cs.api.body import ContactsRequest, read_contacts
from cs.api.call_log import note_search
from cs.api.errors import ApiError, TooManyWaiting, may_be_stored, whole_seconds
from cs.api.keys import Caller, wrong_key
from cs.api.rate_limit_headers import daily_headers, hit_headers, too_many_checks
from cs.api.reads import check_secret, too_many_waiting_now
from cs.api.waiting import within
from cs.domain.key import Key, SearchAdmitted, SearchSettled
from cs.domain.refusal import Refusal
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import LogUnavailable
from cs.projections.search_record import (
    POLL_S,
    SearchParts,
    poll_url,
    running_body,
    search_body,
)
from cs.projections.searches import admitted_row, settled_row

log = get_logger()

#: Admissions of a live search: without ``wait`` the answer is 202 (contract text 3).
_LIVE = frozenset({"started", "joined", "repeated"})


async def post_contacts(api: Api, request: Request) -> Response:
    """Return 200 with contacts, or 202 with a running search."""
    hold_until = api.clock.now() + api.hold
    caller: Caller = request.state.caller
    asked = await _read_body(api, request, caller)
    admitted = await _admit(api, request, caller, asked)
    if admitted.admission.kind == "replayed":
        await _count_replay(api, caller, admitted)
    return await StoredSearch(api, request, caller, asked, admitted).answer(hold_until)


async def _read_body(api: Api, request: Request, caller: Caller) -> ContactsRequest:
    """Return what *request* asks for.

    Raises:
        ApiError: ``invalid_request``; ``rate_limited`` if too many bodies of the key are on
            their way; ``unauthorized`` if the secret opens the key no more.
    """
    try:
        async with api.body_limiter.slot(caller.key_id):
            return await read_contacts(request, api.time_limits.body_s)
    except TooManyWaiting as error:
        raise too_many_waiting_now(api, caller) from error
    except ApiError:
        await check_secret(api, caller)
        raise


async def _admit(
    api: Api, request: Request, caller: Caller, asked: ContactsRequest
) -> StoredAdmission:
    """Store the search, or raise the refusal as an error of the API.

    Raises:
        ApiError: Nothing was stored.
        AppendInDoubt: Perhaps it was.
    """
    try:
        async with api.search_limiter.slot(caller.key_id, api.time_limits.wait_s):
            may_be_stored(request)
            admitted = await api.admission.admit(
                caller, asked, request.state.request_id, api.time_limits
            )
    except TooManyWaiting as error:
        raise too_many_waiting_now(api, caller) from error
    except Refusal as refusal:
        raise await _refused(api, refusal, caller) from refusal
    note_search(request.scope["state"], admitted)
    return admitted


async def _refused(api: Api, refusal: Refusal, caller: Caller) -> ApiError:
    """Return the error of *refusal*, with the headers of the limit it met."""
    if refusal.code == "unauthorized":
        api.keys.shut(caller.secret_hash)
        return wrong_key()
    headers: dict[str, str] = {}
    at = api.clock.now()
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(whole_seconds(refusal.retry_after))
    if refusal.limit is not None or refusal.code == "at_capacity":
        async with within(api.time_limits.read_s):
            key = await api.keys.read(caller.key_id)
        headers |= daily_headers(key, at)
        if refusal.limit is not None and refusal.retry_after is not None:
            headers |= hit_headers(refusal.limit[0], refusal.retry_after, key, at)
    return ApiError(refusal.code, refusal.message, headers=headers)


async def _count_replay(api: Api, caller: Caller, admitted: StoredAdmission) -> None:
    """Count the replay of an idempotency key as a check: no search was made.

    Raises:
        ApiError: ``rate_limited``: 120 a minute are used.
    """
    at = api.clock.now()
    check = await api.checks.count(caller.key_id, at)
    if not check.counted:
        raise too_many_checks(check, admitted.key, at)


@dataclass(frozen=True)
class StoredSearch:
    """A ``POST /contacts`` that was admitted."""

    api: Api
    request: Request
    caller: Caller
    asked: ContactsRequest
    admitted: StoredAdmission

    @property
    def search(self) -> str:
        return self.admitted.admission.search

    async def answer(self, hold_until: datetime) -> Response:
        """Return 200 or 202; a call with ``wait`` is held until *hold_until* at most.

        Raises:
            ApiError: ``unauthorized``: the secret opens the key no more (contract H11).
        """
        try:
            admission = self.admitted.admission
            if self.asked.wait and admission.kind != "cached":  # that one has ended
                return await self._after_hold(hold_until)
            if admission.kind in _LIVE:
                # It may have ended meanwhile; the answer is 202 all the same.
                return self._running(self.admitted.key)
            return await self._as_it_is(self.admitted.key)
        except ApiError:
            raise
        except asyncio.CancelledError:
            if not self.api.draining.is_set():
                raise
            log.warning("cut_off_answered_by_admission")
        except Exception:
            log.exception("failed_answered_by_admission")
        return self._from_memory()

    async def _after_hold(self, until: datetime) -> Response:
        """Hold the call, then answer it.

        While the service leaves, a call whose search ran when last seen is answered at once
        and from memory (contract H14): thousands may be, and the log may be away.
        """
        api = self.api
        self.request.scope["state"]["held"] = True
        ends = (api.reading.until_settled(self.search), api.clock.sleep_until(until))
        caller_has_gone = await api.long_polls.hold(
            self.caller.key_id, self.request.receive, ends, leaving=api.draining
        )
        if caller_has_gone:
            return Response()  # goes nowhere; the search runs on (contract H12)
        ran = any(running.search == self.search for running in self.admitted.key.running)
        if api.draining.is_set() and ran:
            return self._from_memory()
        return await self._as_it_is(None)

    async def _as_it_is(self, known: Key | None) -> Response:
        """Answer with the search as it is, or as admission knows it if the views are away.

        *known* is the key as it is, if it need not be read.

        Raises:
            ApiError: ``unauthorized``.
        """
        api, key_id = self.api, self.caller.key_id
        body = self.admitted.body
        match self.admitted.admission.key_events:
            case (SearchAdmitted() as begun, SearchSettled() as ended) if known and body:
                row = settled_row(admitted_row(self.caller.stream, begun), ended)
                reused = SearchParts(self.search, row, known, body)
                return _answer(reused, daily_headers(known, api.clock.now()))
            case _:
                pass
        try:
            async with within(api.time_limits.answer_s):
                key = known
                if key is None:
                    key = await retry_while_unavailable(
                        partial(api.keys.read_open, self.caller)
                    )
                found = await retry_while_unavailable(
                    partial(api.reading.search, self.search, key_id, key)
                )
        except LogUnavailable as error:
            log.warning("answered_by_admission", why=str(error))
            api.keys.require_not_shut(self.caller)
            return self._running(self.admitted.key)
        assert found is not None, "an admitted search is in the log"
        return _answer(found, daily_headers(key, api.clock.now()))

    def _from_memory(self) -> Response:
        """Return the 202 of a call during which its key may have changed.

        Its usage is the newest that this process has seen.

        Raises:
            ApiError: ``unauthorized``.
        """
        self.api.keys.require_not_shut(self.caller)
        return self._running(self.api.keys.last_read(self.caller.key_id) or self.admitted.key)

    def _running(self, key: Key) -> Response:
        """Return the 202, which needs neither the log nor the views."""
        headers = daily_headers(key, self.api.clock.now())
        return _accepted(running_body(self.search, self.asked.brand, key), self.search, headers)


def _answer(found: SearchParts, headers: Mapping[str, str]) -> Response:
    """Return 200 if the search has ended, or 202."""
    body = search_body(found)
    if found.body is None:
        return _accepted(body, found.search, headers)
    return Response(body, 200, headers, media_type="application/json")


def _accepted(body: bytes, search: str, headers: Mapping[str, str]) -> Response:
    location = {"Location": poll_url(search), "Retry-After": str(POLL_S)}
    return Response(body, 202, {**headers, **location}, media_type="application/json")
