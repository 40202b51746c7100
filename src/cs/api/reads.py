"""``GET /usage`` and ``GET /searches/{id}``: a check is counted first, then its key is read."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NoReturn

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cs.api.api import Api
from cs.api.call_log import SEARCH
from cs.api.errors import ApiError, TooManyWaiting
from cs.api.keys import Caller
from cs.api.rate_limit_headers import daily_headers, too_many_checks, too_many_waiting
from cs.api.waiting import within
from cs.checks.checks import Check
from cs.domain.key import INITIAL, Key
from cs.eventlog.port import LogUnavailable
from cs.projections.search_record import search_body, usage_body


class CheckedKey(msgspec.Struct, frozen=True):
    """The state of a key whose check was counted, and the headers of its answer."""

    key: Key
    headers: Mapping[str, str]


async def get_usage(api: Api, request: Request) -> Response:
    """Return quota, used and remaining of the calling key."""

    async def answer(checked: CheckedKey) -> Response:
        return _ok(usage_body(checked.key), checked)

    return await _answer_check(api, request, answer)


async def get_search(api: Api, request: Request) -> Response:
    """Return the search as it is now; 404 if it is not of the calling key."""
    caller: Caller = request.state.caller
    search = request.scope["path"].removeprefix(SEARCH)

    async def answer(checked: CheckedKey) -> Response:
        found = await api.reading.search(search, caller.key_id, checked.key)
        if found is not None:
            return _ok(search_body(found), checked)
        message = "no search with this id was made with this key"
        return ApiError("not_found", message, headers=checked.headers).response()

    return await _answer_check(api, request, answer)


def _ok(body: bytes, checked: CheckedKey) -> Response:
    return Response(body, 200, checked.headers, media_type="application/json")


async def check_secret(api: Api, caller: Caller) -> None:
    """Check that *caller*'s secret opens its key, before an answer that needs no more of it.

    While the key cannot be read, or many calls of it wait to, memory has to do.

    Raises:
        ApiError: ``unauthorized``.
    """
    try:
        async with within(api.time_limits.read_s), api.read_limiter.slot(caller.key_id):
            await api.keys.read_open(caller)
    except (TooManyWaiting, LogUnavailable):
        api.keys.require_not_shut(caller)


def too_many_waiting_now(api: Api, caller: Caller) -> ApiError:
    """Return the 429 of a call that cannot wait for a slot of its key.

    Raises:
        ApiError: ``unauthorized``: the secret is known to open the key no more.
    """
    api.keys.require_not_shut(caller)
    return too_many_waiting(api.keys.last_read(caller.key_id) or INITIAL, api.clock.now())


async def _answer_check(
    api: Api, request: Request, answer: Callable[[CheckedKey], Awaitable[Response]]
) -> Response:
    """Count a check, and return what *answer* makes of its key.

    A check that fails is not counted (contract L3), unless its count cannot be changed at
    once or the service leaves.

    Raises:
        ApiError: ``rate_limited``: 120 a minute are used; ``unauthorized``: the secret opens
            the key no more.
        LogUnavailable: It took too long.
    """
    caller: Caller = request.state.caller
    at = api.clock.now()
    check: Check | None = None
    try:
        async with within(api.time_limits.read_s):
            check = await api.checks.count(caller.key_id, at)
            if not check.counted:
                await _refuse(api, caller, check, at)
            async with api.read_limiter.slot(caller.key_id):
                key = await api.keys.read_open(caller, check.key_version)
                return await answer(CheckedKey(key, daily_headers(key, at, check.window)))
    except TooManyWaiting as error:
        await _uncount(api, caller, check)
        raise too_many_waiting_now(api, caller) from error
    except Exception:
        await _uncount(api, caller, check)
        raise


async def _refuse(api: Api, caller: Caller, check: Check, at: datetime) -> NoReturn:
    """Refuse a check beyond the limit; a flood with the secret of the key reads nothing.

    Raises:
        ApiError: ``rate_limited``, or ``unauthorized``.
    """
    key = api.keys.last_read(caller.key_id)
    if key is None or not key.opened_by(caller.secret_hash, at):
        key = await api.keys.read_open(caller)
    api.keys.require_not_shut(caller)
    raise too_many_checks(check, key, at)


async def _uncount(api: Api, caller: Caller, check: Check | None) -> None:
    if check is not None and check.counted:
        with suppress(LogUnavailable):
            async with within(api.time_limits.uncount_s):
                await api.checks.uncount(caller.key_id, check.at)
