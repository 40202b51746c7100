"""Serves the hand-written description of the API."""

import hashlib
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
    sent = ",".join(request.headers.getlist("if-none-match"))
    # Weakly compared (RFC 9110 section 13.1.2); our tag has no comma in it.
    named = {each.strip().removeprefix("W/") for each in sent.split(",")}
    if named & {_ETAG, "*"}:
        return Response(status_code=304, headers=_HEADERS)
    return Response(_DOCUMENT, headers=_HEADERS, media_type="application/json")
