"""What stored events tell of who somebody is, read past all else that they say.

Opening whole events took four times as long: conversations with mail servers are most of them.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from cs.domain.brand.events import ContactsDiscovered, MailboxVerified, PeopleFound
from cs.domain.codec import every_version
from cs.eventlog.fingerprints import Fingerprinter, identities_of, profile_print
from cs.eventlog.port import SealedEvent
from cs.eventlog.sealing import key_name
from cs.history.evidence import Findings
from cs.history.opening import (
    DAMAGED,
    SealedPeople,
    SealedValue,
    names_of,
    opener,
)
from cs.keystore.port import KeyStore

#: What is first said about somebody, and mailboxes; later events repeat it.
TELLING = (PeopleFound, ContactsDiscovered, MailboxVerified)
#: What the topics of those begin with; and of those that first name somebody.
TELLING_TOPICS = tuple(every_version(event) for event in TELLING)
NAMING_TOPICS = tuple(every_version(event) for event in (PeopleFound, ContactsDiscovered))


class _Telling(SealedPeople, frozen=True, kw_only=True):
    """One of `TELLING`, as it is stored."""

    people: tuple[SealedValue, ...] = ()
    checked: SealedValue | None = None

    @property
    def values(self) -> tuple[SealedValue, ...]:
        return self.people if self.checked is None else (self.checked,)


class _IdentityFields(msgspec.Struct, gc=False):
    """What says who somebody is, of a personal value."""

    full_name: str | None = None
    company: str | None = None
    linkedin_url: str | None = None
    address: str | None = None


_EVENT = msgspec.json.Decoder(_Telling)
_SAID = msgspec.json.Decoder(_IdentityFields)


class Profiles(NamedTuple):
    """What is first said about people, where everybody has a profile.

    Attributes:
        findings: Of whom it can be read.
        unreadable: The others, ``<lookup>#p1``: erased, or their key is lost.
    """

    findings: list[Findings]
    unreadable: list[str]


async def profiles_in(keys: KeyStore, events: Sequence[SealedEvent]) -> Profiles | None:
    """Return what *events*, of `NAMING_TOPICS`, tell, if that tells who everybody is.

    ``None``: somebody has no profile, or something is damaged.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    read = [(event, _read(event)) for event in events]
    names = (name for _, said in read if said for name in names_of(said, said.people))
    opens = await opener(keys, names)
    found = Profiles([], [])
    for event, said in read:
        if said is None:
            return None
        for value in said.people:
            name = key_name(said.lookup, value.person)
            try:
                plain = opens.read(event, said, value, _SAID)
            except DAMAGED:
                return None
            if plain is not None and plain.linkedin_url:
                print_ = profile_print(keys, plain.linkedin_url)
                found.findings.append(Findings(name, print_, ()))
            elif plain is not None and plain.full_name:
                return None
            else:
                found.unreadable.append(name)
    if any(lost.why != "missing" for lost in opens.lost):
        return None  # another key may open what is said later
    return found


async def findings_in(keys: KeyStore, events: Sequence[SealedEvent]) -> list[Findings]:
    """Return what *events*, of `TELLING_TOPICS`, tell, in order.

    Nobody is in it who is erased, whose key is lost, or whose event is damaged.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    read = [(event, said) for event in events if (said := _read(event)) is not None]
    opens = await opener(
        keys, (name for _, said in read for name in names_of(said, said.values))
    )
    found: list[Findings] = []
    for event, said in read:
        for value in said.values:
            with suppress(*DAMAGED):  # it hides nobody else
                plain = opens.read(event, said, value, _SAID)
                if plain is not None:
                    name = key_name(said.lookup, value.person)
                    each = findings(keys, name, msgspec.structs.asdict(plain))
                    found += () if each is None else (each,)
    return found


def findings(
    keys: Fingerprinter, name: str, value: Mapping[str, str | None]
) -> Findings | None:
    """Return what *value*, fields of a personal value, tells of the record *name*.

    ``None``: nothing, as they are erased.
    """
    profile, others = None, list[str]()
    for kind, print_ in identities_of(keys, value):
        if kind != "profile":
            others.append(print_)
        elif profile is None:
            profile = print_
    if profile is None and not others and not value.get("full_name"):
        return None
    return Findings(name, profile, tuple(others))


def _read(event: SealedEvent) -> _Telling | None:
    try:
        return _EVENT.decode(event.state)
    except DAMAGED:
        return None
