"""What stored events tell of who somebody is, read past all else that they say.

Opening whole events took four times as long: conversations with mail servers are most of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from cryptography.exceptions import InvalidTag

from cs.domain.brand.events import ContactsDiscovered, MailboxVerified, PeopleFound
from cs.domain.codec import every_version
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.fingerprints import Fingerprinter, identities_of
from cs.eventlog.port import SealedEvent
from cs.eventlog.sealing import key_name, open_with
from cs.history.evidence import Findings
from cs.keystore.errors import KeysUnavailable
from cs.keystore.port import KeyStore

#: What is first said about somebody, and mailboxes; later events repeat it.
TELLING = (PeopleFound, ContactsDiscovered, MailboxVerified)
#: What the topics of those begin with.
TELLING_TOPICS = tuple(every_version(event) for event in TELLING)


class _Box(msgspec.Struct):
    """A sealed value (`cs.eventlog.sealing`)."""

    person: str
    box: str = ""


class _Event(msgspec.Struct):
    """One of `TELLING`, as it is stored."""

    lookup: str
    people: tuple[_Box, ...] = ()
    checked: _Box | None = None


class _Said(msgspec.Struct):
    """What says who somebody is, of a personal value."""

    full_name: str | None = None
    company: str | None = None
    linkedin_url: str | None = None
    address: str | None = None


_EVENT = msgspec.json.Decoder(_Event)
_SAID = msgspec.json.Decoder(_Said)


async def findings_in(keys: KeyStore, events: Sequence[SealedEvent]) -> list[Findings]:
    """Return what *events*, of `TELLING_TOPICS`, tell, in order.

    Nobody is in it who is erased, whose key is lost, or whose event is damaged.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    boxes = [box for event in events for box in _boxes(event)]
    try:
        held = await keys.find(name for name, _ in boxes)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error
    said = ((name, _opened(held.get(name), name, box)) for name, box in boxes)
    found = (findings(keys, name, value) for name, value in said if value is not None)
    return [each for each in found if each is not None]


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


def _boxes(event: SealedEvent) -> Iterator[tuple[str, str]]:
    """Yield who is in *event*, and what is sealed about them."""
    try:
        stored = _EVENT.decode(event.state)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # damaged
        return
    values: Iterable[_Box] = stored.people
    if stored.checked is not None:
        values = (*values, stored.checked)
    for value in values:
        if value.box:  # else they were erased before it was stored
            yield key_name(stored.lookup, value.person), value.box


def _opened(key: bytes | None, name: str, box: str) -> Mapping[str, str | None] | None:
    if key is None:
        return None
    try:
        return msgspec.structs.asdict(_SAID.decode(open_with(key, name, box)))
    except (InvalidTag, ValueError):  # another key, or damaged; `MsgspecError` is one
        return None
