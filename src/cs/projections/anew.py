"""Views made anew beside the running ones: what a store has to offer for it.

They are a set of tables of their own, which only whoever makes them writes, and which take the
place of the running ones in one transaction (docs/decisions, 30).
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from cs.eventlog.port import RecordedEvent
from cs.projections.port import Views
from cs.projections.projection import SealBody


class NotReplayable(Exception):
    """Views cannot be made anew and compared now; the message says why and what to do."""


class StoredRow(NamedTuple):
    """One row as it is stored."""

    row_id: str
    tag: str | None
    row: bytes


class RowsAt(Protocol):
    """All rows of views as they were at one moment.

    Attributes:
        position: That they reflect.
    """

    @property
    def position(self) -> int: ...

    async def page(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        """Return up to *limit* rows of *table* with an id after *after*, by id."""


class AnewViews(Protocol):
    """Views made anew beside running ones of the same projections.

    Raises:
        LogUnavailable: From every method: the views cannot be read or written now.
    """

    @property
    def views(self) -> Views:
        """Those made anew; nobody else writes them."""

    async def clear(self) -> None:
        """Drop what was made beside the running ones by anybody who did not end it."""

    async def check_rights(self) -> None:
        """Pass if whoever uses the running rows may use those made anew in their place.

        Raises:
            NotReplayable: They may not.
        """

    def running(self) -> AbstractAsyncContextManager[RowsAt]:
        """Give the rows of the running ones, which move on meanwhile."""

    async def page(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        """Do as `RowsAt.page` with the rows made anew."""

    async def take_place(self, page: Sequence[RecordedEvent], seal: SealBody) -> bool:
        """Put the rows made anew in the place of the running ones, which are theirs then.

        In one transaction, in which nobody moves the running ones on: what *page* has up to
        their checkpoint is applied, and then the rows change places.

        Returns:
            Whether that was done; else the running ones are as they were, since *page* does
            not lead up to there.
        """

    async def discard(self) -> None:
        """Drop the tables that are not in use."""
