"""The key of a call: read, and whether the secret that was sent opens it.

What was read since the call came decides.  What this process remembers may only refuse.
"""

from cs.api.api import Api
from cs.api.credentials import Caller, wrong_key
from cs.api.errors import ApiError, TooManyWaiting
from cs.api.rate_limit_headers import too_many_waiting
from cs.api.time_limits import within
from cs.domain.key import INITIAL, Key
from cs.eventlog.errors import LogUnavailable


async def read_key(api: Api, key_id: str) -> Key:
    """Return the key as the log has it now.

    Raises:
        LogUnavailable: It cannot be read, or not in time.
    """
    async with within(api.time_limits.read_s):
        return await read_key_unbounded(api, key_id)


async def read_key_unbounded(api: Api, key_id: str) -> Key:
    """Do as `read_key`, for whoever bounds the time."""
    key: Key = (await api.streams.key(key_id)).state
    api.recent_keys.remember(key_id, key)
    return key


async def read_key_lately(api: Api, key_id: str) -> Key:
    """Return the key as of a second ago at most; while the log is away, as last read."""
    known = api.recent_keys.remembered(key_id)
    if known is not None and not api.recent_keys.is_due(key_id, api.clock.monotonic()):
        return known
    try:
        return await read_key_unbounded(api, key_id)
    except LogUnavailable:
        if known is None:
            raise
        return known


async def check_secret(api: Api, caller: Caller) -> None:
    """Read *caller*'s key before an answer that needs nothing of it.

    While it cannot be read, or many calls of that key wait to, memory has to do.

    Raises:
        ApiError: ``unauthorized``: the secret opens the key no more.
    """
    try:
        async with within(api.time_limits.read_s), api.read_limiter.slot(caller.key_id):
            require_open(api, caller, await read_key_unbounded(api, caller.key_id))
    except (TooManyWaiting, LogUnavailable):
        require_not_refused(api, caller)


def require_open(api: Api, caller: Caller, key: Key) -> None:
    """Check that the caller's secret opens *key*, which was read since it called.

    Raises:
        ApiError: ``unauthorized``: it was rotated or revoked (contract H11), whether or not
            the event has come to this process.
    """
    if not key.opened_by(caller.secret_hash):
        raise unauthorized_now(api, caller)


def require_not_refused(api: Api, caller: Caller) -> None:
    """Do as `require_open`, by what this process remembers of the key."""
    if api.recent_keys.refuses(caller.key_id, caller.secret_hash):
        raise unauthorized_now(api, caller)


def unauthorized_now(api: Api, caller: Caller) -> ApiError:
    """Return the 401 of a secret that opens its key no more, and forget the secret."""
    api.key_ring.forget(caller.secret_hash)
    return wrong_key()


def too_many_waiting_now(api: Api, caller: Caller) -> ApiError:
    """Return the 429 of a call that cannot wait for a slot of its key.

    Raises:
        ApiError: ``unauthorized``: the secret is known to open the key no more.
    """
    require_not_refused(api, caller)
    known = api.recent_keys.remembered(caller.key_id)
    return too_many_waiting(known or INITIAL, api.clock.now())
