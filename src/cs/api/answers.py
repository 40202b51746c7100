"""The shape of every good answer: Search and Usage, their statuses and headers.

A Search is spliced from what is stored ready to send.
"""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from cs.domain.admission import RETRY_AFTER
from cs.domain.key import Key
from cs.projections.reading import Found
from cs.projections.usage import UsageRow

POLL_S = int(RETRY_AFTER.total_seconds())


def usage_answer(key: Key, headers: Mapping[str, str]) -> Response:
    """Return the 200 of ``GET /usage``."""
    return _json_response(usage_body(key), 200, headers)


def search_answer(found: Found, headers: Mapping[str, str]) -> Response:
    """Return the 200 of ``GET /searches/{id}``, whatever the status of the search."""
    return _json_response(search_body(found), 200, headers)


def contacts_answer(found: Found, headers: Mapping[str, str]) -> Response:
    """Return what ``POST /contacts`` is answered with: 200 if the search has ended, or 202."""
    body = search_body(found)
    if found.body is None:
        return _accepted(body, found.search, headers)
    return _json_response(body, 200, headers)


def running_answer(
    search: str, brand: str, key: UsageRow | Key, headers: Mapping[str, str]
) -> Response:
    """Return the 202 of a search that runs, made without log and views."""
    return _accepted(running_body(search, brand, key), search, headers)


def usage_body(key: UsageRow | Key) -> bytes:
    """Return the Usage object (contract text 2.3)."""
    usage = {"quota": key.quota, "used": key.used, "remaining": key.quota - key.used}
    return msgspec.json.encode(usage)


def search_body(found: Found) -> bytes:
    """Return the Search object (contract text 2.1): six fields while it runs, then all."""
    row = found.row
    if found.body is None:
        return running_body(found.search, row.brand, found.usage)
    head: dict[str, object] = {"id": found.search, "status": row.status, "brand": row.brand}
    if row.reason is not None:
        head["reason"] = row.reason
    head |= {"cached": row.cached, "charged": row.charged}
    return _spliced(head, found.body[1:-1], found.usage)


def running_body(search: str, brand: str, key: UsageRow | Key) -> bytes:
    """Return the Search object of a search that runs."""
    head = {"id": search, "status": "running", "brand": brand}
    fields = {"poll_url": poll_url(search), "retry_after": POLL_S}
    return _spliced(head, msgspec.json.encode(fields)[1:-1], key)


def poll_url(search: str) -> str:
    """Return the path of *search*, beginning with the version (contract S14)."""
    return f"/v1/searches/{search}"


def _accepted(body: bytes, search: str, headers: Mapping[str, str]) -> Response:
    location = {"Location": poll_url(search), "Retry-After": str(POLL_S)}
    return _json_response(body, 202, {**headers, **location})


def _json_response(body: bytes, status: int, headers: Mapping[str, str]) -> Response:
    return Response(
        body, status_code=status, headers=dict(headers), media_type="application/json"
    )


def _spliced(head: Mapping[str, object], fields: bytes, key: UsageRow | Key) -> bytes:
    usage = b'"usage":' + usage_body(key) + b"}"
    return msgspec.json.encode(head)[:-1] + b"," + fields + b"," + usage
