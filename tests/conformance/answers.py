"""What holds of every answer."""

from typing import Any

import httpx

#: Contract text 7: each code stands at its one status (but for 405, a kind of wrong request).
STATUS = {
    "invalid_request": 400,
    "unauthorized": 401,
    "quota_exhausted": 402,
    "not_found": 404,
    "rate_limited": 429,
    "too_many_in_flight": 429,
    "at_capacity": 503,
    "api_disabled": 503,
    "server_error": 500,
}


def is_refused(answer: httpx.Response, code: str, status: int | None = None) -> str:
    """Assert that *answer* is the error *code* and nothing else; return its message."""
    body: dict[str, Any] = answer.json()
    assert body.keys() == {"error"}, body
    error = body["error"]
    assert error.keys() == {"code", "message"}, error
    assert (answer.status_code, error["code"]) == (status or STATUS[code], code), error
    assert answer.headers["Content-Type"] == "application/json"
    message = error["message"]
    assert isinstance(message, str)
    assert message
    return message


def limits(answer: httpx.Response) -> tuple[int, int, int]:
    """Return limit, remaining and reset as the three headers have them."""
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    limit, remaining, reset = (answer.headers[name] for name in names)
    assert all(text.isdecimal() and text.isascii() for text in (limit, remaining, reset))
    return int(limit), int(remaining), int(reset)


def windows(answer: httpx.Response) -> dict[str, dict[str, int]]:
    """Return the RateLimit header: for each window what is left (r) and until when (t)."""
    found = {}
    for item in answer.headers["RateLimit"].split(", "):
        name, *parameters = item.split(";")
        found[name.strip('"')] = {p[0]: int(p[2:]) for p in parameters}
    return found
