"""The calls of the API: their content, and how long an answer may take."""

import re
from typing import Literal
from urllib.parse import quote

import msgspec

from cs.client.errors import Unsendable

#: A call with ``wait`` is held up to 85 s (contract text 4.1); proxies want 100 (contract H13).
TIMEOUT_S = 100.0
#: For a search itself, in addition to what patience allows; it ends within 120 s (contract S9).
WAIT_S = 300.0
#: Any other call is answered or refused within some 10 s.
SHORT_S = 30.0

_NOT_UTF_8 = "the words are not UTF-8"
_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")


class Query(msgspec.Struct, frozen=True):
    """A brand to search.

    Attributes:
        brand: The name people actually say.
        domain: Its web site; at least one of the two is needed, both are surest.
        idempotency_key: Names the wish, so that it is charged once however often it is
            asked for within 24 hours; made up if empty.
        search: Id of a search that was started for it; then that one is followed.
        asked_at: When *idempotency_key* was first asked for, if its answer was lost: in
            seconds by the time of day.  23 hours later it ends with `TooLate`.
    """

    brand: str | None = None
    domain: str | None = None
    idempotency_key: str = ""
    search: str = ""
    asked_at: float | None = None


def as_query(query: Query | str) -> Query:
    """Return *query*; a string is a brand."""
    return Query(query) if isinstance(query, str) else query


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the API, as often as it may be made.

    Attributes:
        query: The brand that a search is started for.
    """

    method: Literal["GET", "POST"]
    path: str
    answer: Literal["search", "usage"]
    body: bytes = b""
    idempotency_key: str = ""
    asked_at: float | None = None
    timeout_s: float = SHORT_S
    query: Query | None = None

    @property
    def headers(self) -> dict[str, str]:
        if self.method == "GET":
            return {}
        return {
            "Content-Type": "application/json",
            "Idempotency-Key": self.idempotency_key,
        }


def contacts_call(query: Query, *, wait: bool) -> Call:
    """Return the call that starts a search, held until it ends if *wait*.

    Raises:
        Unsendable: *query* has no idempotency key, or one that no header can carry; or its
            words are not Unicode.
    """
    if not _IDEMPOTENCY_KEY.fullmatch(query.idempotency_key):
        raise Unsendable("an idempotency key has 1 to 255 visible ASCII characters")
    fields = {"brand": query.brand, "domain": query.domain, "wait": wait}
    try:
        body = msgspec.json.encode({k: v for k, v in fields.items() if v is not None})
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise Unsendable(f"brand and domain: {_NOT_UTF_8}") from error
    return Call(
        method="POST",
        path="/contacts",
        answer="search",
        body=body,
        idempotency_key=query.idempotency_key,
        asked_at=query.asked_at,
        timeout_s=TIMEOUT_S if wait else SHORT_S,
        query=query,
    )


def search_call(search: str) -> Call:
    """Return the call that reads a search again.

    Raises:
        Unsendable: *search* is not Unicode.
    """
    try:
        path = f"/searches/{quote(search, safe='')}"
    except UnicodeEncodeError as error:
        raise Unsendable(f"the id of the search: {_NOT_UTF_8}") from error
    return Call(method="GET", path=path, answer="search")


USAGE = Call(method="GET", path="/usage", answer="usage")
