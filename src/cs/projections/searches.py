"""The view behind ``GET /searches/{id}``: one row a search, one body a lookup.

A result is stored once for all searches it answers, ready to send but for what differs
(id, brand as searched, cached, charged, usage).  Its contacts are sealed whole under a key
of their own.  When one of its people is erased, or mail to one came back, what it shows now
is sealed again, under another key.
"""

from datetime import datetime
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET

from cs.domain.brand.events import ContactBounced, ContactsErased, LookupFinished
from cs.domain.contact import Contact
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import RecordedEvent
from cs.projections.table import SealBody, Table


class SearchRow(msgspec.Struct, frozen=True, kw_only=True):
    """One search.

    Attributes:
        position, settled_position: Of the events that admitted and ended it; 0: not yet.
    """

    key_id: str
    brand: str
    lookup: str
    status: str = "running"
    reason: str | None = None
    cached: bool = False
    charged: bool = False
    position: int = 0
    settled_position: int = 0


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    head: bytes  # a JSON object: what was found about the brand, and when
    sealed: bytes  # a JSON array: the contacts; empty if their key was destroyed
    key: str  # the name of the data key that opens them


def result_key(lookup: str) -> str:
    """Return the name of the data key of the contacts of *lookup*, without erasures."""
    return f"result:{lookup}"


def later_result_key(lookup: str, version: int) -> str:
    """Return that of the contacts as event *version* of its stream left them."""
    return f"{result_key(lookup)}@{version}"


def key_of(recorded: RecordedEvent) -> str | None:
    """Return the name of the data key of the contacts that *recorded* holds, if it does."""
    match recorded.event:
        case LookupFinished(lookup=lookup):
            return result_key(lookup)
        case ContactsErased(lookup=lookup) | ContactBounced(lookup=lookup):
            return later_result_key(lookup, recorded.version)
        case _:
            return None


def admitted_row(stream: str, admitted: SearchAdmitted, position: int = 0) -> SearchRow:
    """Return the row of a search of the key *stream* that runs."""
    return SearchRow(
        key_id=stream.removeprefix("key-"),
        brand=admitted.brand,
        lookup=admitted.lookup,
        position=position,
    )


def settled_row(before: SearchRow, settled: SearchSettled, position: int = 0) -> SearchRow:
    """Return the row of a search that was *before*, and has ended."""
    done = settled.outcome == "done"
    return msgspec.structs.replace(
        before,
        status="done" if done else "failed",
        reason=None if done else settled.outcome,
        cached=settled.cached,
        charged=settled.charged,
        settled_position=position,
    )


def _fold_search(before: SearchRow | None, recorded: RecordedEvent) -> SearchRow | None:
    match recorded.event:
        case SearchAdmitted() as admitted:
            return admitted_row(recorded.stream, admitted, recorded.position)
        case SearchSettled() as settled if before is not None:
            return settled_row(before, settled, recorded.position)
        case _:
            return before


#: By the id of the search.
SEARCHES = Table(
    "searches",
    SearchRow,
    frozenset({SearchAdmitted, SearchSettled}),
    attrgetter("event.search"),
    _fold_search,
    lambda row: "running" if row.status == "running" else None,
)


def _fold_result(before: ResultRow | None, recorded: RecordedEvent) -> ResultRow | None:
    """Return the result after *recorded*, its contacts not sealed yet."""
    match recorded.event:
        case LookupFinished() as event:
            head = msgspec.json.encode(brand_fields(event))
        case ContactsErased() | ContactBounced() as event if before is not None:
            head = before.head
        case _:
            return before  # it runs still
    shown = [
        contact_fields(contact)
        for contact in event.contacts
        if contact.full_name is not None  # erased since: the log stays readable
    ]
    key = key_of(recorded)
    assert key is not None, "it holds contacts"
    return ResultRow(head=head, sealed=msgspec.json.encode(shown), key=key)


def _sealed(row: ResultRow, seal: SealBody) -> ResultRow:
    return msgspec.structs.replace(row, sealed=seal(row.key, row.sealed))


#: By the id of the lookup.
RESULTS = Table(
    "results",
    ResultRow,
    frozenset({LookupFinished, ContactsErased, ContactBounced}),
    attrgetter("event.lookup"),
    _fold_result,
    sealed=_sealed,
)

_MATCH_FIELDS = ("domain", "linkedin_company_url", "parent_company", "instagram", "tiktok")


def brand_fields(finished: LookupFinished) -> dict[str, Any]:
    """Return what a search record says about the brand and the search's time.

    ``done`` has all five match fields, ``failed`` those that are known (contract S2, S3).
    """
    fields: dict[str, Any] = {}
    brand, done = finished.brand, finished.outcome == "done"
    if brand is not None or done:
        for name in _MATCH_FIELDS:
            value = getattr(brand, name, None)
            if value or done:
                fields[name] = value
    fields["searched_at"] = instant(finished.at)
    return fields


def contact_fields(contact: Contact) -> dict[str, Any]:
    """Return the eleven fields of contract text 2.2, and `extras` if extra stages found any."""
    fields = {name: getattr(contact, name) for name in CONTACT_FIELDS}
    return fields | ({} if contact.extras is UNSET else {"extras": contact.extras})


#: In the order in which callers get them; ``person`` is not shown.
CONTACT_FIELDS = tuple(
    name for name in Contact.__struct_fields__ if name not in {"person", "extras"}
)


def instant(at: datetime) -> str:
    """Return *at* as callers see it: UTC, whole seconds, ``Z`` (contract S12)."""
    # By hand: takes a third less than `strftime`, and every result has one.
    day = f"{at.year:04}-{at.month:02}-{at.day:02}"
    return f"{day}T{at.hour:02}:{at.minute:02}:{at.second:02}Z"
