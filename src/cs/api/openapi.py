"""Serves the hand-written description of the API."""

import hashlib
import re
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from cs.api.api import Api

OPENAPI_PATH = "/v1/openapi.json"

_DOCUMENT = files("cs.api").joinpath("openapi.json").read_bytes()
_ETAG = f'"{hashlib.sha256(_DOCUMENT).hexdigest()[:32]}"'
_HEADERS = {
    "ETag": _ETAG,
    "Cache-Control": "public, max-age=300",
    "Access-Control-Allow-Origin": "*",
}


async def get_openapi(_: Api, request: Request) -> Response:
    """``GET /openapi.json``: no key needed."""
    if is_not_modified(_ETAG, ", ".join(request.headers.getlist("if-none-match"))):
        return Response(status_code=304, headers=_HEADERS)
    return Response(_DOCUMENT, headers=_HEADERS, media_type="application/json")


def is_not_modified(etag: str, if_none_match: str) -> bool:
    """Return whether *if_none_match* names *etag*, weakly compared (RFC 9110 13.1.2).

    >>> [is_not_modified('"a"', named) for named in ('W/"b", W/"a"', "*", '"a"b')]
    [True, True, False]
    """
    return if_none_match.strip() == "*" or etag in _TAGS.findall(if_none_match)


#: The opaque tags of a list of entity tags (RFC 9110 8.8.3), which may hold commas.
_TAGS = re.compile(r'(?:^|,)[ \t]*(?:W/)?("[^"]*")(?=[ \t]*(?:,|$))')
