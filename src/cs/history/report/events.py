"""What a report reads of an event: few of its fields, people left sealed where they can be.

Decoding little makes a pass over a long log several times as fast.  The fields have the names
and meanings of `cs.domain.key` and `cs.domain.brand.events`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from cs.domain.brand import events as brand
from cs.domain.brand.events import (
    ContactsDiscovered,
    MailboxNotVerified,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import LeftOut
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import BounceReported
from cs.domain.source_cost import SourceCost


class AdmittedSearch(msgspec.Struct, frozen=True):
    at: datetime
    search: str


class RepeatedSearch(msgspec.Struct, frozen=True):
    at: datetime


class SettledSearch(msgspec.Struct, frozen=True):
    at: datetime
    search: str
    lookup: str
    outcome: str
    charged: bool
    cached: bool


class StartedLookup(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str


class IssuedAttempt(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    stage: str
    attempt: int
    item: str = ""


class FailedAttempt(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    stage: str
    why: str
    item: str = ""
    costs: tuple[SourceCost, ...] = ()


class ResolvedLookup(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    sources: dict[str, str] = msgspec.field(default_factory=dict)
    costs: tuple[SourceCost, ...] = ()


class Reference(msgspec.Struct, frozen=True):
    """A personal value, of which only is read whom it is about."""

    person: str


class RankedPeople(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    ranked: tuple[Reference, ...]
    left_out: tuple[LeftOut, ...] = ()
    costs: tuple[SourceCost, ...] = ()


class DomainChecked(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    mail_domain: str
    learned: DomainFacts = DomainFacts()
    costs: tuple[SourceCost, ...] = ()


class FinishedLookup(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    outcome: str
    verified: int
    cut_off: bool = False
    verified_from: dict[str, int] = msgspec.field(default_factory=dict)
    verified_by: dict[str, int] = msgspec.field(default_factory=dict)


class BouncedContact(msgspec.Struct, frozen=True):
    at: datetime
    lookup: str
    verifier: str
    reason: str | None = None


class ReportedBounce(msgspec.Struct, frozen=True):
    at: datetime
    kind: str


Slim = (
    AdmittedSearch
    | RepeatedSearch
    | SettledSearch
    | StartedLookup
    | IssuedAttempt
    | FailedAttempt
    | ResolvedLookup
    | RankedPeople
    | DomainChecked
    | FinishedLookup
    | BouncedContact
    | ReportedBounce
)
#: Whose personal values are opened.
Opened = PeopleFound | ContactsDiscovered | MailboxVerified | MailboxNotVerified
ReportEvent: TypeAlias = Slim | Opened

#: What is read of which event.
SLIM: Mapping[type[AnyEvent], type[Slim]] = {
    SearchAdmitted: AdmittedSearch,
    SearchRepeated: RepeatedSearch,
    SearchSettled: SettledSearch,
    brand.LookupStarted: StartedLookup,
    brand.StageIssued: IssuedAttempt,
    brand.AttemptFailed: FailedAttempt,
    brand.BrandResolved: ResolvedLookup,
    brand.ContactsRanked: RankedPeople,
    brand.MailDomainChecked: DomainChecked,
    brand.LookupFinished: FinishedLookup,
    brand.ContactBounced: BouncedContact,
    BounceReported: ReportedBounce,
}
OPENED = frozenset({PeopleFound, ContactsDiscovered, MailboxVerified, MailboxNotVerified})
_DECODERS: Mapping[type[Slim], msgspec.json.Decoder[Any]] = {
    shape: msgspec.json.Decoder(shape) for shape in SLIM.values()
}


def slim(event: type[AnyEvent], state: bytes) -> Slim:
    """Return what is read of an *event*, one of `SLIM`, that is stored as *state*.

    Raises:
        msgspec.MsgspecError: It is damaged.
    """
    found: Slim = _DECODERS[SLIM[event]].decode(state)
    return found


def slim_of(event: AnyEvent) -> Slim:
    """Return what is read of *event*, one of `SLIM`."""
    return msgspec.convert(event, SLIM[type(event)], from_attributes=True)
