"""The answer to a search that is stored: there is always one, whatever goes wrong."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from structlog import get_logger

from cs.api.answers import contacts_answer, running_answer
from cs.api.api import Api
from cs.api.body import ContactsRequest
from cs.api.credentials import Caller
from cs.api.errors import ApiError
from cs.api.key_access import read_key, require_not_refused, require_open
from cs.api.rate_limit_headers import daily_headers
from cs.api.stored_admission import StoredAdmission
from cs.api.time_limits import within
from cs.domain.key import Key
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.follow import retry_while_unavailable

log = get_logger()

#: Admissions of a live search: without ``wait`` the answer is 202 (contract text 3).
_LIVE = frozenset({"started", "joined", "repeated"})


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
            self.api.reading.admitted(self.caller.key_id, admission.key_events)
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

        While the service leaves, one whose search ran when last seen is answered at once
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
        if known is not None and body is not None:
            require_open(api, self.caller, known)
            ended = api.reading.with_body(self.search, key_id, known, body)
            if ended is not None:  # nothing has to be waited for
                return contacts_answer(ended, daily_headers(known, api.clock.now()))
        try:
            async with within(api.time_limits.answer_s):
                key = (
                    await retry_while_unavailable(partial(read_key, api, key_id))
                    if known is None
                    else known
                )
                require_open(api, self.caller, key)
                found = await retry_while_unavailable(
                    partial(api.reading.search, self.search, key_id, key)
                )
        except LogUnavailable as error:
            log.warning("answered_by_admission", why=str(error))
            require_not_refused(api, self.caller)
            return self._running(self.admitted.key)
        assert found is not None, "an admitted search is in the log"
        return contacts_answer(found, daily_headers(key, api.clock.now()))

    def _from_memory(self) -> Response:
        """Return the 202 of a call during which its key may have changed.

        Its usage is the newest that this process has seen.

        Raises:
            ApiError: ``unauthorized``.
        """
        require_not_refused(self.api, self.caller)
        newest = self.api.recent_keys.remembered(self.caller.key_id)
        return self._running(newest or self.admitted.key)

    def _running(self, key: Key) -> Response:
        """Return the 202, which needs neither the log nor the views."""
        headers = daily_headers(key, self.api.clock.now())
        return running_answer(self.search, self.asked.brand, key, headers)
