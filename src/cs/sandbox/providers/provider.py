"""What every played provider is made of."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cs.sandbox.web import HttpReply, HttpRequest


class BadQuestion(Exception):
    """The request is not one that the provider documents; answered 400 with its text."""


class ProviderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer.

    Attributes:
        line: Of the bill.
        units: What it costs there.
    """

    reply: HttpReply
    line: str
    units: int = 0


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider.

    Attributes:
        name: The first part of its paths.
        key_of: Where a request has its key.
        refused: What another key is answered.
        empty: What is answered once the account is empty.
        answer: Answers a request, its path without the name; may raise `BadQuestion`.
    """

    name: str
    key_of: Callable[[HttpRequest], str | None]
    refused: HttpReply
    empty: HttpReply
    answer: Callable[[HttpRequest], ProviderAnswer]


def told(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpReply:
    """Return *value* as JSON."""
    return HttpReply(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json; charset=utf-8",
        headers=dict(headers or {}),
    )


def body_of(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that was posted.

    Raises:
        BadQuestion: None was.
    """
    try:
        return msgspec.json.decode(request.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadQuestion("a JSON object is posted here") from error


def in_header(name: str) -> Callable[[HttpRequest], str | None]:
    return lambda request: request.headers.get(name)


def in_query(name: str) -> Callable[[HttpRequest], str | None]:
    return lambda request: request.query.get(name)
