"""Every good answer: the objects of `cs.projections.search_record`, with status and headers."""

from collections.abc import Mapping
from functools import cache

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cs.domain.key import Key
from cs.projections.search_record import (
    POLL_S,
    SearchParts,
    poll_url,
    running_body,
    search_body,
    usage_body,
)
from cs.projections.usage import UsageRow


def usage_answer(key: Key, headers: Mapping[str, str]) -> "JsonResponse":
    """Return the 200 of ``GET /usage``."""
    return JsonResponse(usage_body(key), 200, headers)


def search_answer(found: SearchParts, headers: Mapping[str, str]) -> "JsonResponse":
    """Return the 200 of ``GET /searches/{id}``, whatever the status of the search."""
    return JsonResponse(search_body(found), 200, headers)


def contacts_answer(found: SearchParts, headers: Mapping[str, str]) -> Response:
    """Return what ``POST /contacts`` is answered with: 200 if the search has ended, or 202."""
    body = search_body(found)
    if found.body is None:
        return _accepted(body, found.search, headers)
    return JsonResponse(body, 200, headers)


def running_answer(
    search: str, brand: str, key: UsageRow | Key, headers: Mapping[str, str]
) -> Response:
    """Return the 202 of a search that runs, made without log and views."""
    return _accepted(running_body(search, brand, key), search, headers)


def _accepted(body: bytes, search: str, headers: Mapping[str, str]) -> Response:
    location = {"Location": poll_url(search), "Retry-After": str(POLL_S)}
    return JsonResponse(body, 202, {**headers, **location})


class JsonResponse(Response):
    """A response whose body is JSON already: what it is sent as is made here, and at once."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            *((_lower(name), value.encode("latin-1")) for name, value in headers.items()),
        ]

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        headers = self.raw_headers
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": headers}
        )
        await send({"type": "http.response.body", "body": self.body})


@cache
def _lower(name: str) -> bytes:
    """Return the name of a header as it is sent; there are a dozen."""
    return name.lower().encode("ascii")
