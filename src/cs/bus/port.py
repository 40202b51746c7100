"""The port that every message bus implements.

Delivery is at least once; records of one key come in order.  A record is done when it
is committed; one that is not comes again.  Commits may come in any order: what counts
is the lowest one missing.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

import msgspec

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class BusUnavailable(Exception):
    """The bus cannot take the record now, or does not answer."""


class BusRefused(BusUnavailable):
    """The bus turns us away: no waiting mends it; the message names the setting."""


class BusStuck(Exception):
    """Records wait but none arrives, not even after joining again: end the process."""


class Record(msgspec.Struct, frozen=True):
    """One message as read back from a topic."""

    topic: str
    partition: int
    offset: int  # 0-based position within the partition
    key: bytes
    value: bytes
    headers: Mapping[str, str] = NO_HEADERS
    at: datetime | None = None  # when it was published, if the bus keeps that


class Subscription(Protocol):
    @property
    def away(self) -> str | None:
        """Why nothing can arrive now; ``None``: something can."""

    def keeps(self, record: Record) -> bool:
        """Return whether *record* is still this member's; else it comes again, to another."""

    def __aiter__(self) -> AsyncIterator[Record]:
        """Yield records for ever, waiting when there are none.

        A bus may wait too while many records given out are uncommitted: 64 of a partition.
        """

    async def commit(self, record: Record) -> None:
        """Mark *record* as done."""


class Bus(Protocol):
    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        """Return once the bus has the record.  Same key, same order.

        Raises:
            BusUnavailable: It could not be handed over in time; it may have been.
        """

    def subscribe(
        self, topic: str, *, group: str, drain_s: float = 0.0
    ) -> AbstractAsyncContextManager[Subscription]:
        """Join *group* on *topic*: each record goes to one member.

        Leaving gives out nothing more and waits at most *drain_s* seconds for the records
        given out to be committed; the others come again, to another member.

        Raises:
            BusUnavailable: The bus turns us away; one that is only away is waited for.
            BusStuck: While subscribed: see there.
        """
