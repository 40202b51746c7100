"""A status or usage check: counted first, then its key is read."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from cs.api.api import Api
from cs.api.credentials import Caller
from cs.api.errors import TooManyWaiting
from cs.api.key_access import (
    read_key_lately,
    read_key_unbounded,
    require_open,
    too_many_waiting_now,
)
from cs.api.rate_limit_headers import daily_headers, too_many_checks
from cs.api.time_limits import within
from cs.checks.port import Check
from cs.domain.key import Key
from cs.eventlog.errors import LogUnavailable


class CheckedKey(msgspec.Struct, frozen=True):
    """What a counted check is answered with."""

    key: Key
    headers: Mapping[str, str]


async def answer_check(
    api: Api, request: Request, answer: Callable[[CheckedKey], Awaitable[Response]]
) -> Response:
    """Count a check, and return what *answer* makes of its key.

    One that fails is not counted, unless its count cannot be changed at once or the service
    leaves.

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
            check = await _count(api, caller, at)
            async with api.read_limiter.slot(caller.key_id):
                key = await read_key_unbounded(api, caller.key_id)
                require_open(api, caller, key)
                return await answer(CheckedKey(key, daily_headers(key, at, check.window)))
    except TooManyWaiting as error:
        await _uncount(api, caller, check)
        raise too_many_waiting_now(api, caller) from error
    except Exception:
        await _uncount(api, caller, check)
        raise


async def _count(api: Api, caller: Caller, at: datetime) -> Check:
    check = await api.checks.count(caller.key_id, at)
    if not check.counted:
        key = await read_key_lately(api, caller.key_id)
        require_open(api, caller, key)
        raise too_many_checks(check, key, at)
    return check


async def _uncount(api: Api, caller: Caller, check: Check | None) -> None:
    if check is not None and check.counted:  # a refusal is remembered, and costs nothing more
        with suppress(LogUnavailable):
            async with within(api.time_limits.uncount_s):
                await api.checks.uncount(caller.key_id, check.at)
