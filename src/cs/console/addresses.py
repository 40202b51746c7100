"""Addresses of the console: links to its pages, and what the parameters of a call say."""

from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.domain.brand.brand import stream_of
from cs.history.pages import Link


def position_of(request: Request, name: str = "before") -> int | None:
    """Return the position that the parameter *name* says; ``None``: it is not there.

    Raises:
        HTTPException: 400: it is no position.
    """
    said = request.query_params.get(name)
    if not said:
        return None
    if not said.isdecimal() or len(said) > 15:
        raise HTTPException(400, f"{name}: a position of the log is a whole number")
    return int(said)


def chosen(request: Request, name: str) -> str | None:
    """Return what the parameter *name* says, at most 300 characters; ``None``: nothing."""
    return request.query_params.get(name, "").strip()[:300] or None


def same(request: Request, **changed: Any) -> str:
    """Return the address of *request* with *changed* parameters."""
    return str(request.url.include_query_params(**changed).replace(scheme="", netloc=""))


def search_link(search: str) -> Link:
    return Link(search, f"/console/searches/{search}")


def key_link(key: str) -> Link:
    return Link(key, f"/console/keys/{key}")


def event_link(position: int) -> Link:
    return Link(str(position), f"/console/events/{position}")


def lookup_link(lookup: str) -> Link:
    return Link(lookup, f"/console/events?lookup={lookup}")


def stream_link(stream: str) -> Link:
    return Link(stream, f"/console/events?stream={quote(stream)}")


def brand_link(name: str, lookup: str) -> Link:
    """Return a link to the brand of *lookup*."""
    return Link(name, f"/console/brands/{stream_of(lookup)}")


def domain_link(domain: str) -> Link:
    return Link(domain, f"/console/mail-domains?domain={quote(domain)}")
