"""The calls of the API, how long an answer may take, and reading an answer."""

import re
from collections.abc import Mapping
from typing import Literal, NoReturn
from urllib.parse import quote

import msgspec

from cs.client.errors import (
    NotFound,
    NotThisApi,
    Unreachable,
    Unsendable,
    api_error_class,
)
from cs.client.limits import Limits, read_limits, read_retry_after
from cs.client.records import Search, Usage, read_search, read_usage

#: A call with ``wait`` is held up to 85 s (contract text 4.1); proxies want 100 (contract H13).
TIMEOUT_S = 100.0
#: For a search itself, in addition to what patience allows; it ends within 120 s (contract S9).
WAIT_S = 300.0
#: Any other call is answered or refused within some 10 s.
SHORT_S = 30.0

_HINT = "does the address end with /v1?"
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NOT_UTF_8 = "the words are not UTF-8"
_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")


class Query(msgspec.Struct, frozen=True):
    """A brand to search.

    Attributes:
        brand: The name people actually say.
        domain: Its web site; at least one of the two is needed, both are surest.
        idempotency_key: Names the search, so that it is charged once however often it is
            asked for within 24 hours; made up if empty.
        search: Id of a search that was started for it; then that one is followed.
        asked_at: When *idempotency_key* was first asked for, if its answer was lost: in
            seconds by the time of day.  23 hours later it ends with `TooLate`.
    """

    brand: str | None = None
    domain: str | None = None
    idempotency_key: str = ""
    search: str = ""
    asked_at: float | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the API, as often as it may be made.

    Attributes:
        query: The brand that a search is started for.
    """

    method: Literal["GET", "POST"]
    path: str
    answer: Literal["search", "usage"]
    body: bytes = b""
    idempotency_key: str = ""
    asked_at: float | None = None
    timeout_s: float = SHORT_S
    query: Query | None = None

    @property
    def headers(self) -> dict[str, str]:
        if self.method == "GET":
            return {}
        return {
            "Content-Type": "application/json",
            "Idempotency-Key": self.idempotency_key,
        }


def contacts_call(query: Query, *, wait: bool) -> Call:
    """Return the call that starts a search, held until it ends if *wait*.

    Raises:
        Unsendable: *query* has no idempotency key, or one that no header can carry; or its
            words are not Unicode.
    """
    if not _IDEMPOTENCY_KEY.fullmatch(query.idempotency_key):
        raise Unsendable("an idempotency key has 1 to 255 visible ASCII characters")
    fields = {"brand": query.brand, "domain": query.domain, "wait": wait}
    try:
        body = msgspec.json.encode({k: v for k, v in fields.items() if v is not None})
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise Unsendable(f"brand and domain: {_NOT_UTF_8}") from error
    return Call(
        method="POST",
        path="/contacts",
        answer="search",
        body=body,
        idempotency_key=query.idempotency_key,
        asked_at=query.asked_at,
        timeout_s=TIMEOUT_S if wait else SHORT_S,
        query=query,
    )


def search_call(search: str) -> Call:
    """Return the call that reads a search again.

    Raises:
        Unsendable: *search* is not Unicode.
    """
    try:
        path = f"/searches/{quote(search, safe='')}"
    except UnicodeEncodeError as error:
        raise Unsendable(f"the id of the search: {_NOT_UTF_8}") from error
    return Call(method="GET", path=path, answer="search")


USAGE = Call(method="GET", path="/usage", answer="usage")


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
