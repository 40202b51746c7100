"""Views: rows and a checkpoint, always of one and the same position.

Whatever is kept in them can be lost without loss: it is made anew from the log.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from cs.domain.codec import topic_of
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.projections.generation import CopiedRows, Generation
from cs.projections.projection import SealBody
from cs.projections.rows import Table
from cs.projections.set_aside import TakeUp

R = TypeVar("R", bound=msgspec.Struct)

#: Rows as they will be, encoded, by (table, id).
Changed = Mapping[tuple[str, str], bytes]


class Views(Protocol):
    """Where the rows of all projections are kept.

    ``since`` is a position that was reached before; views that are behind it now were
    made anew in between, and know too little.

    Raises:
        LogUnavailable: From every method: the views cannot be read or written now, were
            found damaged and are made anew, or are behind ``since``.
    """

    async def position(self) -> int:
        """Return the checkpoint: the position of the last event these views reflect."""

    async def last_event(self) -> str:
        """Return which event the checkpoint is at, as `named` names it; empty at 0."""

    async def edition(self) -> int:
        """Return how often rows made anew took the place of these, at the same checkpoint."""

    async def moved(self, after: int) -> int:
        """Return the checkpoint as soon as it is beyond *after*, or after a second."""

    async def apply(
        self, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None = None
    ) -> int:
        """Apply what is new in *page* and return the checkpoint after it.

        A page that does not go on where the views are is left alone: somebody else moved
        or rebuilt them, and the checkpoint says from where to read.

        What is damaged in *page* sets its stream aside (`cs.projections.set_aside`): that event
        and all that follow it in its stream are passed over.

        Args:
            page: Events in order of position, without gaps; damaged ones `UnreadableEvent`.
            seal: Has the keys of all bodies in *page*.
            epoch: Of the caller's lease, if it has one.

        Raises:
            cs.postgres.errors.Fenced: Somebody with a later lease was here.  Only where
                several processes may write.
        """

    async def take_up(self, late: TakeUp, seal: SealBody, epoch: int | None = None) -> bool:
        """Apply events of a stream that was set aside; return whether that was done.

        Not if the views have moved on from where *late* was made, the stream is not set
        aside in them, or somebody with a later lease was here.

        Raises:
            DamagedEvent: The events make no sense.
        """

    async def ahead(self, newer: Sequence[RecordedEvent], seal: SealBody) -> Changed:
        """Return the rows that *newer* will change, as they will be; nothing is written."""

    async def get(self, table: Table[R], row_id: str, since: int = 0) -> R | None: ...

    async def get_at(self, table: Table[R], row_id: str) -> tuple[int, R | None]:
        """Return the checkpoint and a row, both of one moment."""

    async def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        """Return (id, row) of the rows tagged *tag*, by id."""

    async def ids_tagged(
        self,
        table: Table[R],
        tags: Collection[str],
        since: int = 0,
        *,
        limit: int | None = None,
    ) -> list[tuple[str, str]]:
        """Return (id, tag) of the rows with one of *tags*, in any order, up to *limit* of them.

        No others are read.
        """

    async def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        """Return (id, tag) of up to *limit* tagged rows with an id after *after*, by id."""

    async def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        """Return (id, row) of every row, by id."""

    async def reset(self) -> None:
        """Forget everything; the next page to apply is the log's first."""

    async def others(self) -> Sequence[Generation]:
        """Return the generations whose rows may be copied, the best one first."""

    async def copy_from(self, other: Generation, epoch: int | None = None) -> CopiedRows:
        """Begin with the rows of the projections that *other* has at the same version.

        Nothing is copied into views that are not empty, and nothing from views that pass
        over a stream or are not complete themselves.  *other* may have moved on meanwhile.

        Returns:
            What was copied, `NO_COPIES` if nothing was.  If it is all there is, the
            checkpoint is where *other* has its own.
        """

    async def copies(self) -> CopiedRows:
        """Return what these views began with, until they are emptied."""

    async def retire(self) -> None:
        """Remove what other versions left behind; called now and then by who has caught up."""

    async def close(self) -> None: ...


#: What stands for a damaged event, which cannot be told apart from another.
UNREADABLE = "unreadable"


def named(recorded: RecordedEvent) -> str:
    """Return what distinguishes *recorded* from an event of another history at its position.

    Nothing in it is personal, so that it stays the same when somebody is erased; nor is
    the version of the event, which is another one for whoever upcasts it.
    """
    if isinstance(recorded, UnreadableEvent):
        return UNREADABLE
    event = recorded.event
    kind = topic_of(event).rpartition(".")[0]
    return f"{recorded.stream} {recorded.version} {kind} {event.at.isoformat()}"


def check_since(position: int, since: int) -> None:
    """Check that views at *position* reflect *since*.

    Raises:
        LogUnavailable: They do not.
    """
    if position < since:
        raise LogUnavailable(f"the views are made anew: at {position}, they were at {since}")


def following_on(page: Sequence[RecordedEvent], checkpoint: int) -> Sequence[RecordedEvent]:
    """Return what of *page* comes after *checkpoint*; empty if that leaves a gap."""
    if page and page[0].position == checkpoint + 1:
        return page
    new = [recorded for recorded in page if recorded.position > checkpoint]
    return new if new and new[0].position == checkpoint + 1 else ()
