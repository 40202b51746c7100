"""``POST /contacts``: read the body, admit the search, answer.

The gate has found the caller's key (`cs.api.app`).  Whether the secret opens it now is for
whoever reads the key: admission, or the check before a refusal that reads nothing else.
"""

from starlette.requests import Request
from starlette.responses import Response

from cs.api import failures
from cs.api.api import Api
from cs.api.body import ContactsRequest, read_contacts
from cs.api.call_log import note_search
from cs.api.credentials import Caller
from cs.api.errors import ApiError, TooManyWaiting, whole_seconds
from cs.api.key_access import (
    check_secret,
    read_key,
    too_many_waiting_now,
    unauthorized_now,
)
from cs.api.rate_limit_headers import daily_headers, hit_headers, too_many_checks
from cs.api.stored_admission import StoredAdmission
from cs.api.stored_search import StoredSearch
from cs.domain.refusal import Refusal


async def post_contacts(api: Api, request: Request) -> Response:
    """Return 200 with contacts, or 202 with a running search."""
    hold_until = api.clock.now() + api.hold
    caller: Caller = request.state.caller
    asked = await _read_body(api, request, caller)
    admitted = await _admit(api, request, caller, asked)
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
            failures.may_be_stored(request)
            admitted = await api.admission.admit(
                caller, asked, request.state.request_id, api.time_limits
            )
            api.recent_keys.remember(caller.key_id, admitted.key)
    except TooManyWaiting as error:
        raise too_many_waiting_now(api, caller) from error
    except Refusal as refusal:
        raise await _refused(api, refusal, caller) from refusal
    note_search(request.scope["state"], admitted)
    return admitted


async def _refused(api: Api, refusal: Refusal, caller: Caller) -> ApiError:
    """Return the error of *refusal*, with the headers of the limit it met."""
    if refusal.code == "unauthorized":
        return unauthorized_now(api, caller)
    headers: dict[str, str] = {}
    at = api.clock.now()
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(whole_seconds(refusal.retry_after))
    if refusal.limit is not None and refusal.retry_after is not None:
        key = await read_key(api, caller.key_id)
        headers |= hit_headers(refusal.limit[0], refusal.retry_after, key, at)
    elif refusal.code == "at_capacity":
        key = await read_key(api, caller.key_id)
        headers |= daily_headers(key, at)
    return ApiError(refusal.code, refusal.message, headers=headers)


async def _count_replay(api: Api, caller: Caller, admitted: StoredAdmission) -> None:
    """Count what an idempotency key found again as a check: it is one of no search.

    Raises:
        ApiError: ``rate_limited``: 120 a minute are used.
    """
    if admitted.admission.kind != "replayed":
        return
    at = api.clock.now()
    check = await api.checks.count(caller.key_id, at)
    if not check.counted:
        raise too_many_checks(check, admitted.key, at)
