"""Every good answer: the objects of `cs.projections.search_record`, with status and headers."""

from collections.abc import Mapping

from starlette.responses import Response

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


def usage_answer(key: Key, headers: Mapping[str, str]) -> Response:
    """Return the 200 of ``GET /usage``."""
    return json_response(usage_body(key), 200, headers)


def search_answer(found: SearchParts, headers: Mapping[str, str]) -> Response:
    """Return the 200 of ``GET /searches/{id}``, whatever the status of the search."""
    return json_response(search_body(found), 200, headers)


def contacts_answer(found: SearchParts, headers: Mapping[str, str]) -> Response:
    """Return what ``POST /contacts`` is answered with: 200 if the search has ended, or 202."""
    body = search_body(found)
    if found.body is None:
        return _accepted(body, found.search, headers)
    return json_response(body, 200, headers)


def running_answer(
    search: str, brand: str, key: UsageRow | Key, headers: Mapping[str, str]
) -> Response:
    """Return the 202 of a search that runs, made without log and views."""
    return _accepted(running_body(search, brand, key), search, headers)


def _accepted(body: bytes, search: str, headers: Mapping[str, str]) -> Response:
    location = {"Location": poll_url(search), "Retry-After": str(POLL_S)}
    return json_response(body, 202, {**headers, **location})


def json_response(body: bytes, status: int, headers: Mapping[str, str]) -> Response:
    return Response(body, status, headers, media_type="application/json")
