"""Answers of the service: searches, contacts, usage (contract text 2).

Fields that this client does not know are ignored, so that a newer server can be called.
"""

from datetime import datetime
from typing import Literal

import msgspec

#: Seconds between two looks at a running search, unless the server says (contract S15).
POLL_S = 5


class Usage(msgspec.Struct, frozen=True):
    """The quota of a key, after the call."""

    quota: int
    used: int
    remaining: int


class Contact(msgspec.Struct, frozen=True, kw_only=True):
    """A person found.  `email` is set exactly when it was verified.

    `extras` holds what stages that the operator added found out, by name.
    """

    full_name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    title: str | None = None
    headline: str | None = None
    company: str | None = None
    email: str | None = None
    email_status: str = "not_found"
    email_source: str | None = None
    linkedin_url: str | None = None
    location: str | None = None
    extras: dict[str, str] = {}


class Running(msgspec.Struct, frozen=True, kw_only=True, tag_field="status", tag="running"):
    """A live search that has not ended.  `retry_after` is in seconds."""

    id: str
    brand: str
    usage: Usage
    poll_url: str = ""
    retry_after: int = POLL_S

    @property
    def status(self) -> Literal["running"]:
        return "running"


class _Ended(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    brand: str
    usage: Usage
    domain: str | None = None
    linkedin_company_url: str | None = None
    parent_company: str | None = None
    instagram: str | None = None
    tiktok: str | None = None
    cached: bool | None = None
    charged: bool | None = None
    searched_at: datetime | None = None
    contacts: tuple[Contact, ...] = ()


class Done(_Ended, frozen=True, kw_only=True, tag_field="status", tag="done"):
    """A search that found at least one verified e-mail."""

    @property
    def status(self) -> Literal["done"]:
        return "done"

    @property
    def verified(self) -> tuple[Contact, ...]:
        """Return the contacts that have an e-mail."""
        return tuple(contact for contact in self.contacts if contact.email is not None)


class Failed(_Ended, frozen=True, kw_only=True, tag_field="status", tag="failed"):
    """A search that found no verified e-mail; free.  `contacts` may be partial.

    Attributes:
        reason: ``no_linkedin``, ``no_contacts``, ``no_emails``, ``scrape_error``,
            ``timeout`` or ``error``; a server may come to know others.
    """

    reason: str

    @property
    def status(self) -> Literal["failed"]:
        return "failed"


class Other(_Ended, frozen=True, kw_only=True):
    """A search in a status that this client does not know; it is taken to have ended."""

    status: str


Search = Running | Done | Failed | Other
_KNOWN = frozenset({"running", "done", "failed"})
_known = msgspec.json.Decoder(Running | Done | Failed)
_other = msgspec.json.Decoder(Other)
_usage = msgspec.json.Decoder(Usage)


def read_search(body: bytes) -> Search:
    """Return the search in *body*.

    Raises:
        msgspec.DecodeError: It is none.
        UnicodeDecodeError: It is not UTF-8.
        RecursionError: It is nested too deeply.
    """
    try:
        search: Search = _known.decode(body)
    except msgspec.ValidationError:
        other = _other.decode(body)
        if other.status in _KNOWN:
            raise
        search = other
    return search


def read_usage(body: bytes) -> Usage:
    """Return the usage in *body*; raises what `read_search` raises."""
    return _usage.decode(body)
