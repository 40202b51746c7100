"""The providers with a key over a world; here, the shape of one of them."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from cs.sandbox.servers import HttpReply, HttpRequest


class BadQuestion(Exception):
    """The request is not one that the provider documents; answered 400 with its text."""


class ProviderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer; it costs *units* on *line* of the bill."""

    reply: HttpReply
    line: str
    units: int = 0


Route = Callable[[HttpRequest], ProviderAnswer]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider.

    Attributes:
        name: The first part of its paths.
        key: Where a request carries its key, and under which name.
        refused: The reply to another key.
        empty: The reply once the account is empty.
        routes: The functions that answer, by path without the provider's name; they may
            raise `BadQuestion`.
    """

    name: str
    key: tuple[Literal["header", "query"], str]
    refused: HttpReply
    empty: HttpReply
    routes: Mapping[str, Route]


def body_of(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that was posted.

    Raises:
        BadQuestion: None was.
    """
    try:
        return msgspec.json.decode(request.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadQuestion("a JSON object is posted here") from error
