"""Sealing the bodies that the events of a page are made into."""

from collections.abc import Mapping, Sequence

from cs.domain.brand.events import (
    ContactBounced,
    ContactsErased,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
)
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventNeeds, RecordedEvent
from cs.eventlog.sealing import seal_bytes
from cs.keystore.errors import KeysUnavailable
from cs.projections.projection import SealBody
from cs.projections.searches import key_of

#: What the writer of views takes in of events: people where they are part of a body, and the
#: verdicts that are counted (`cs.projections.event_counts`).
SHOWN = EventNeeds(
    opened=frozenset(
        {
            LookupFinished,
            ContactsErased,
            ContactBounced,
            MailboxVerified,
            MailboxNotVerified,
        }
    )
)


async def sealer(keys: DataKeys, page: Sequence[RecordedEvent]) -> SealBody:
    """Return what seals the bodies of *page*; their data keys are durable by then.

    Raises:
        LogUnavailable: The key store is away.
    """
    names = [name for recorded in page if (name := key_of(recorded)) is not None]
    try:
        opened: Mapping[str, bytes] = await keys.ensure(names) if names else {}
    except KeysUnavailable as error:
        raise LogUnavailable(str(error)) from error

    def seal(name: str, body: bytes) -> bytes:
        key = opened.get(name)
        return b"" if key is None else seal_bytes(key, name, body)

    return seal
