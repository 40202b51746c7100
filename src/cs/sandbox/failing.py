"""How a service of the world fails when the world says so."""

import msgspec

from cs.sandbox.shapes import (
    JsonDisabled,
    MaxLag,
    NoAnswer,
    NoFailure,
    NotJson,
    Searxng,
    Status,
    Unresponsive,
    Wikidata,
)
from cs.sandbox.web import HttpReply


class FailedReply(msgspec.Struct, frozen=True):
    """The service fails; ``reply`` is what is sent, ``None`` a connection closed."""

    reply: HttpReply | None


def json_reply(
    value: object, *, after_s: float = 0.0, headers: dict[str, str] | None = None
) -> HttpReply:
    return HttpReply(
        body=msgspec.json.encode(value),
        content_type="application/json; charset=utf-8",
        headers=headers or {},
        after_s=after_s,
    )


def failed(state: Wikidata | Searxng) -> FailedReply | None:
    """Return how a service in *state* fails; ``None`` if it answers, be it with nothing."""
    after_s = state.latency_s
    match state.failure:
        case NoFailure() | Unresponsive():
            return None
        case NoAnswer():
            return FailedReply(None)
        case Status(code=code, retry_after_s=wait):
            headers = {} if wait is None else {"Retry-After": str(wait)}
            body = f"<html><body><h1>{code}</h1></body></html>".encode()
            return FailedReply(
                HttpReply(status=code, body=body, headers=headers, after_s=after_s)
            )
        case NotJson():
            body = b"<!doctype html><title>Maintenance</title><p>Back soon."
            return FailedReply(HttpReply(body=body, after_s=after_s))
        case JsonDisabled():
            return FailedReply(
                HttpReply(status=403, body=b"<h1>403 Forbidden</h1>", after_s=after_s)
            )
        case MaxLag(retry_after_s=wait):
            error = {
                "code": "maxlag",
                "info": "Waiting for db1001: 7.3 seconds lagged.",
                "host": "db1001",
                "lag": 7.3,
                "type": "db",
            }
            body_of = {"error": error, "servedby": "sandbox"}
            waiting = {"Retry-After": str(wait), "X-Database-Lag": "7"}
            return FailedReply(json_reply(body_of, after_s=after_s, headers=waiting))
