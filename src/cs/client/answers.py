"""Reading an answer as a value, or as the error that it is."""

from collections.abc import Mapping
from typing import NoReturn

import msgspec

from cs.client.api import Call
from cs.client.errors import (
    NotFound,
    NotThisApi,
    Unreachable,
    api_error_class,
)
from cs.client.limits import Limits, read_limits, read_retry_after
from cs.client.records import Search, Usage, read_search, read_usage

_HINT = "does the address end with /v1?"
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Reply(msgspec.Struct, frozen=True):
    """A whole answer; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoReply(msgspec.Struct, frozen=True):
    """No whole answer, and why, in a few words for people.

    Attributes:
        may_pass: Whether another try may do better.
        sent: Whether the service may have received the call.
    """

    why: str
    may_pass: bool = True
    sent: bool = True


class _ErrorFields(msgspec.Struct):
    code: str
    message: str


class _ErrorBody(msgspec.Struct):
    error: _ErrorFields


_error_decoder = msgspec.json.Decoder(_ErrorBody)


def read_reply(call: Call, reply: Reply | NoReply, where: str) -> Search | Usage:
    """Return what *reply* answers *call* with; errors name *where*.

    Raises:
        Unreachable: It is no whole answer.
        NotThisApi: It is none of this API.
        ApiError: The service refused.
    """
    if isinstance(reply, NoReply):
        message = f"{where} does not answer: {reply.why}"
        raise Unreachable(message, may_pass=reply.may_pass, sent=reply.sent)
    if not 200 <= reply.status < 300:
        _refused(call, reply, where)
    read = read_search if call.answer == "search" else read_usage
    try:
        return read(reply.body)
    except msgspec.ValidationError:
        _not_this_api(reply, where)
    except _NO_JSON as error:
        if _says_json(reply):
            cut = f"{where} does not answer: what it says was cut short"
            raise Unreachable(cut, status=reply.status) from error
        _not_this_api(reply, where)


def limits_of(reply: Reply | NoReply) -> Limits | None:
    """Return what *reply* says of the key's limits."""
    return None if isinstance(reply, NoReply) else read_limits(reply.headers)


def _refused(call: Call, reply: Reply, where: str) -> NoReturn:
    try:
        error = _error_decoder.decode(reply.body).error
    except _NO_JSON:
        _not_this_api(reply, where)
    kind = api_error_class(reply.status, error.code)
    # Where no search is named, it is the path that is not there.
    wrong_address = kind is NotFound and not call.path.startswith("/searches/")
    raise kind(
        f"{error.message} ({where}; {_HINT})" if wrong_address else error.message,
        code=error.code,
        status=reply.status,
        request_id=reply.headers.get("x-request-id"),
        retry_after_s=read_retry_after(reply.headers),
        limits=read_limits(reply.headers),
    )


def _not_this_api(reply: Reply, where: str) -> NoReturn:
    raise NotThisApi(
        f"{where} answers with status {reply.status} and is no server of this API; {_HINT}",
        code="not_this_api",
        status=reply.status,
        request_id=reply.headers.get("x-request-id"),
        retry_after_s=read_retry_after(reply.headers),
    )


def _says_json(reply: Reply) -> bool:
    media_type = reply.headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"
