"""One event with what caused it: as it is stored, or inferred for events of older versions.

Nothing is opened for it: people are in it by their number in a lookup.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from cs.domain.brand.events import (
    BrandForgotten,
    ContactsErased,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent, event_of
from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated, QuotaGranted
from cs.domain.person import PersonErased, PersonSuppressed, SuppressionLifted
from cs.domain.service import Paused, Resumed, WorldChosen
from cs.eventlog.port import SealedEvent
from cs.eventlog.stored_cause import cause_in


class _Person(msgspec.Struct, frozen=True):
    person: str


class EventFields(msgspec.Struct, frozen=True):
    """What any event may say that tells of its place in a chain of causes."""

    at: datetime
    lookup: str | None = None
    search: str | None = None
    stage: str | None = None
    item: str = ""
    attempt: int | None = None
    mail_domain: str | None = None
    checked: _Person | None = None
    outcome: str | None = None
    verified: int | None = None
    charged: bool | None = None
    cached: bool | None = None
    cut_off: bool = False
    aged_out: bool = False
    after_silence: bool = False
    after_restart: bool = False
    why: str | None = None
    request: str | None = None
    by: str | None = None


_SAID = msgspec.json.Decoder(EventFields)


class CausedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event in a chain of causes.

    Attributes:
        topic: Its type.
        of: Which event that is; ``None``: a newer version's.
        said: What it says.
        caused_by: Its cause; ``None``: not known, and not to be inferred from it alone.
        inferred: Whether the cause is not stored: an older version wrote the event.
        follows: The positions of the events that it comes of, first the one that led to it.
    """

    position: int
    stream: str
    version: int
    topic: str
    of: type[AnyEvent] | None
    said: EventFields
    caused_by: AnyCause | None
    inferred: bool
    follows: tuple[int, ...] = ()

    def is_a(self, *types: type[AnyEvent]) -> bool:
        return self.of in types


def as_told(event: CausedEvent) -> dict[str, Any]:
    """Return *event* as JSON values; what is not known or not said is left out."""
    said = event.said
    told = {
        "position": event.position,
        "stream": event.stream,
        "version": event.version,
        "type": event.topic,
        "at": said.at,
        "caused_by": event.caused_by,
        "inferred": event.inferred,
        "follows": event.follows,
        "lookup": said.lookup,
        "search": said.search,
        "stage": said.stage,
        "item": said.item or said.mail_domain,
        "attempt": said.attempt,
        "person": said.checked and f"{said.lookup}#{said.checked.person}",
        "why": said.why,
        "outcome": said.outcome,
        "verified": said.verified,
        "charged": said.charged,
        "cached": said.cached,
    }
    plain: dict[str, Any] = msgspec.to_builtins(told)
    return {name: value for name, value in plain.items() if value is not None}


def caused_event(stored: SealedEvent) -> CausedEvent:
    """Return *stored* with its cause, not linked to any other event yet.

    Raises:
        msgspec.MsgspecError: What is stored is no event.
    """
    said, cause, of = _SAID.decode(stored.state), cause_in(stored.state), event_of(stored.topic)
    return CausedEvent(
        position=stored.position,
        stream=stored.stream,
        version=stored.version,
        topic=stored.topic,
        of=of,
        said=said,
        caused_by=_inferred(stored.stream, of, said) if cause is None else cause,
        inferred=cause is None,
    )


#: What an operator types to have these events.
_COMMANDS: Mapping[type[AnyEvent], str] = {
    KeyIssued: "keys create",
    KeyRotated: "keys rotate",
    KeyRevoked: "keys revoke",
    QuotaGranted: "keys grant",
    BrandForgotten: "brands forget",
    Paused: "pause",
    Resumed: "resume",
    SuppressionLifted: "people suppressed --lift",
}
#: The same; but without an operator's name a mailbox that was found may have led to them.
_ERASING = (PersonErased, PersonSuppressed)


def _inferred(stream: str, of: type[AnyEvent] | None, said: EventFields) -> AnyCause | None:
    """Return the cause of an event of an older version, if the event itself shows it."""
    if of is not None and of in _COMMANDS:
        return OperatorCause(command=_COMMANDS[of], who=said.by)
    if of in _ERASING and said.by is not None:
        return OperatorCause(command="people erase", who=said.by)
    if said.request is not None:
        return RequestCause(id=said.request, key=stream.removeprefix("key-"))
    if of is WorldChosen:
        return StartCause()
    if of is ContactsErased and said.aged_out:
        return TimerCause(timer="ageing")
    if of is StageIssued:
        if said.after_restart:
            return StartCause()
        if said.after_silence or (said.attempt or 1) > 1:
            return TimerCause(timer="silence" if said.after_silence else "retry")
    return None
