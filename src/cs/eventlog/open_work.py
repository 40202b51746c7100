"""What is unfinished: lookups that run, and searches that wait for them."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from cs.eventlog.port import DamagedEvent


class WaitingSearch(msgspec.Struct, frozen=True):
    search: str
    key_id: str
    lookup: str


class UnfinishedWork(msgspec.Struct, frozen=True):
    """Everything unfinished as of log position ``position``.

    Attributes:
        set_aside: Damaged streams, whose work may be missing here.
    """

    position: int
    lookups: Sequence[str]
    searches: Sequence[WaitingSearch]
    set_aside: Sequence[DamagedEvent] = ()


class OpenWork(Protocol):
    """A persisted view, so that a start need not read the whole log."""

    async def unfinished(self) -> UnfinishedWork:
        """Return what is unfinished.

        Raises:
            LogUnavailable: The views cannot be read now.
        """
