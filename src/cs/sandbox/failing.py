"""How a service of the world fails when the world says so."""

import msgspec

from cs.sandbox.shapes import (
    JsonDisabled,
    MaxLag,
    NoAnswer,
    NotJson,
    Searxng,
    Status,
    Wikidata,
)
from cs.sandbox.web import HttpReply

_LAG = {
    "code": "maxlag",
    "info": "Waiting for db1001: 7.3 seconds lagged.",
    "host": "db1001",
    "lag": 7.3,
    "type": "db",
}


class FailedReply(msgspec.Struct, frozen=True):
    """The service fails; ``reply`` is what is sent, ``None`` a connection closed."""

    reply: HttpReply | None


def json_reply(
    value: object,
    status: int = 200,
    *,
    after_s: float = 0.0,
    headers: dict[str, str] | None = None,
) -> HttpReply:
    return HttpReply(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json; charset=utf-8",
        headers=headers or {},
        after_s=after_s,
    )


def failed(state: Wikidata | Searxng) -> FailedReply | None:
    """Return how a service in *state* fails; ``None`` if it answers, be it with nothing."""
    reply: HttpReply
    match state.failure:
        case NoAnswer():
            return FailedReply(None)
        case Status(code=code, retry_after_s=wait):
            headers = {} if wait is None else {"Retry-After": str(wait)}
            reply = HttpReply(status=code, body=f"<h1>{code}</h1>".encode(), headers=headers)
        case NotJson():
            reply = HttpReply(body=b"<!doctype html><title>Maintenance</title><p>Back soon.")
        case JsonDisabled():
            reply = HttpReply(status=403, body=b"<h1>403 Forbidden</h1>")
        case MaxLag(retry_after_s=wait):
            waiting = {"Retry-After": str(wait), "X-Database-Lag": "7"}
            reply = json_reply({"error": _LAG, "servedby": "sandbox"}, headers=waiting)
        case _:
            return None
    return FailedReply(msgspec.structs.replace(reply, after_s=state.latency_s))
