"""A disclosure: an operator opened sealed people, and said why.

Stream category ``disclosure``; one stream per disclosure, ``disclosure-<random id>``, of one
event, which is stored before anything is shown.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from cs.domain.contact import Query
from cs.domain.messages import Event
from cs.domain.refusal import Refusal

#: Characters and words of a reason: what one sentence has.
REASON_AT_LEAST, REASON_AT_MOST, REASON_WORDS = 10, 300, 3
#: Longest name of a file; the rest is cut.
FILE_NAME = 255

_PERSON = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]|linkedin\.com/in/", re.IGNORECASE)


class EventSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Events that meet every one of these; what is not said is met by all.

    Attributes:
        types: Of any of these types: a topic (``key.search-settled.v1``), all versions of it
            (``key.search-settled``) or its last word alone (``search-settled``).
        categories: Of streams of any of these categories.
        streams: Of any of these streams.
        keys: Of any of these API keys, by id.
        query: Of this brand: its lookups, and what keys had to do with them.
        lookup: Of this lookup, and what keys had to do with it.
        mail_domain: Of this mail domain.
        since, until: That happened at or after the one, and before the other.
        after, upto: After the one position, up to the other.
    """

    types: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    query: Query | None = None
    lookup: str | None = None
    mail_domain: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int = 0
    upto: int | None = None


class DisclosedEvents(EventSelection, frozen=True, kw_only=True, omit_defaults=True):
    """The selection of opened data: the people in these events.

    Attributes:
        people: Of these people only, ``<lookup>#p1``; empty: of all in those events.
    """

    people: tuple[str, ...] = ()


class DisclosureMade(Event, frozen=True, kw_only=True):
    """People were opened; stored before they were shown.

    Attributes:
        command: Which command opened them: ``events export``.
        why: The reason as given; names no person.
        asked: Whose data.
        upto: The last position that may have been opened; ``None``: events that were
            appended until ``open_until`` may be among them.
        open_until: See ``upto``.
        file: Name of the file that it was written to, without its folder; ``None``: it was
            printed.
        by: Account or label of the operator.
    """

    command: str
    why: str
    asked: DisclosedEvents
    upto: int | None = None
    open_until: datetime | None = None
    file: str | None = None
    by: str | None = None


DisclosureEvent = DisclosureMade

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[DisclosureEvent]] = {"disclosure.made.v1": DisclosureMade}


class Disclosure(msgspec.Struct, frozen=True):
    """State of a disclosure: made or not."""

    made: bool = False
    last_at: datetime = datetime.min.replace(tzinfo=UTC)


INITIAL = Disclosure()


def decide(draft: DisclosureMade, state: Disclosure) -> tuple[DisclosureEvent, ...]:
    """Return the event of the disclosure in *draft*; ``()`` if it was made before.

    Raises:
        Refusal: ``reason-invalid``, as `clean_reason`.
    """
    if state.made:
        return ()
    file = None if draft.file is None else _printable(draft.file)[:FILE_NAME]
    at = max(draft.at, state.last_at)
    return (replace(draft, why=clean_reason(draft.why), file=file, at=at),)


def clean_reason(why: str) -> str:
    r"""Return *why* as it is stored: printable, runs of white space one space.

    It stands in the log for good, where no erasure reaches it, so it may name no person.

    Raises:
        Refusal: ``reason-invalid``: it is no sentence, or has an address or a profile in it.

    >>> clean_reason("Audit of March,\n ticket 4711\x1b")
    'Audit of March, ticket 4711'
    """
    reason = " ".join(_printable(" ".join(why.split())).split())
    if not REASON_AT_LEAST <= len(reason) <= REASON_AT_MOST:
        bounds = f"{REASON_AT_LEAST} to {REASON_AT_MOST} characters"
        raise Refusal("reason-invalid", f"a reason has {bounds}, this one {len(reason)}")
    if len(reason.split()) < REASON_WORDS:
        raise Refusal(
            "reason-invalid", f"a reason is a sentence: {REASON_WORDS} words, or more"
        )
    if _PERSON.search(reason):
        raise Refusal(
            "reason-invalid",
            "a reason is stored for good and must name no person: give a ticket's number, not "
            "a person's address or profile",
        )
    return reason


def _printable(text: str) -> str:
    return "".join(filter(str.isprintable, text))


def evolve(state: Disclosure, event: DisclosureEvent) -> Disclosure:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    return replace(state, made=True, last_at=event.at)
