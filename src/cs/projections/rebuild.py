"""Views rebuilt from the log next to the running ones, compared with them, and put to use.

The service goes on meanwhile: it reads and moves on its own tables.  An interrupted rebuild
leaves unused tables; the next rebuild drops them, or else the process that keeps the views
does after a day.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag

from cs.eventlog.damage import read_past
from cs.eventlog.port import EventLog, LogUnavailable
from cs.keystore.port import KeyStore
from cs.projections.builds import tables_of
from cs.projections.folding import sealer
from cs.projections.search_record import open_contacts
from cs.projections.searches import ResultRow
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow
from cs.projections.table import Projection, Table
from cs.projections.views import StoredRow, Views

#: Events applied in one transaction.
PAGE = 500
#: Rows of each side in memory at once.
ROWS = 1_000
#: Events that may be missing when the new build takes over.
LAST_PAGE = 5_000
#: How often that is tried while the running views move on.
TRIES = 100
#: Differences that are kept; the others are counted.
KEPT = 100

Phase = Literal["making", "comparing", "switching"]
Kept = Literal["equal", "not-asked", "damaged-log", "lost-keys"]


class NotReplayable(Exception):
    """Views cannot be rebuilt and compared now; the message says why and what to do."""


class ReplayProgress(msgspec.Struct, frozen=True):
    """How far a rebuild is.

    Attributes:
        phase: What is done now.
        position: That the new rows reflect.
        running: That the running ones reflect; the difference is the lag.
        rows: Compared so far.
    """

    phase: Phase
    position: int
    running: int
    rows: int = 0


class RowDifference(msgspec.Struct, frozen=True):
    """One row that is not what the log makes of it.

    Attributes:
        table, row_id: Which one.
        running, rebuilt: Its contents in the running views and in the new ones; ``None``: it is
            not there.  What is sealed is left out.
        why: If the contents are not shown: ``unreadable``, ``contacts`` (people are in it) or
            ``tag`` (what it is looked up by).
    """

    table: str
    row_id: str
    running: Any = None
    rebuilt: Any = None
    why: str = ""


class ReplaySummary(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a rebuild.

    Attributes:
        position: At which the last rows were compared.
        rows: Compared, by table.
        different: Of those, by table; not there: none.
        differences: The first `KEPT` of them.
        switched: Whether the new rows are the running ones now.
        kept: Why not.
        switched_at: At which position.
    """

    position: int
    rows: dict[str, int]
    different: dict[str, int]
    differences: Sequence[RowDifference]
    switched: bool = False
    kept: Kept | None = None
    switched_at: int | None = None


class ViewRebuild:
    """Rebuilds *running* next to them.

    Args:
        events: The log.
        running: The views that the service reads.
        keys: Seal and open what was found.
        projections: Of the views.
        progress: Called with how far it is, after every page.
        pause: How long others may write after a page that took so long, in seconds.
    """

    def __init__(
        self,
        events: EventLog,
        running: Views,
        keys: KeyStore,
        projections: Sequence[Projection],
        *,
        progress: Callable[[ReplayProgress], None] = lambda _: None,
        pause: Callable[[float], float] = lambda took_s: took_s,
    ) -> None:
        self._events = events
        self._running = running
        self._shadow = running.shadow()
        self._keys = keys
        self._tables = tables_of(projections)
        self._progress = progress
        self._pause = pause
        self._keys_lost = False  # that the new rows need
        self._position = 0
        self._rows, self._different = Counter[str](), Counter[str]()
        self._differences: list[RowDifference] = []
        self._newly_aside = False

    async def run(self, *, switch: bool) -> ReplaySummary:
        """Rebuild, compare and, if *switch*, put the new rows to use where rows differ.

        Raises:
            NotReplayable: The running views are empty, were rebuilt meanwhile, or belong to
                another user of the database.
            LogUnavailable: Log, views or keys cannot be used now.
        """
        await self._check_running()
        await self._running.drop_shadows()
        try:
            if switch and (owner := await self._running.other_rights(self._shadow)):
                raise NotReplayable(
                    f"the tables of the views belong to {owner}, or have grants that new ones "
                    "would not have: use the login of cs project; --dry-run compares all the "
                    "same"
                )
            await self._advance(await self._running.position())
            await self._compare()
            kept = self._kept(switch=switch)
            switched_at = await self._switch() if kept is None else None
            return ReplaySummary(
                position=self._position,
                rows=dict(self._rows),
                different=dict(self._different),
                differences=self._differences,
                switched=kept is None,
                kept=kept,
                switched_at=switched_at,
            )
        finally:
            # Also after Ctrl-C: else they would lie there until the next time, or for a day.
            with suppress(LogUnavailable):
                await self._running.drop_shadows()

    async def _check_running(self) -> None:
        position = await self._running.position()
        if not position:
            raise NotReplayable(
                "this version's views are not made yet: start the service, or wait until it "
                "has made them (views_behind on /readyz)"
            )
        if position > await self._events.head():
            raise NotReplayable("the views are ahead of the log: start the service")

    async def _advance(self, upto: int) -> None:
        """Apply what is missing up to *upto*.

        Raises:
            NotReplayable: The new build is beyond it.
        """
        lost_before = self._keys.lost.read.total()
        position = await self._shadow.position()
        if position < upto:
            await self._events.head()  # another process appends: the log reads up to its head
        while position < upto:
            began = time.monotonic()
            page = await read_past(self._events, position, min(PAGE, upto - position))
            if not page:
                raise NotReplayable("the views are ahead of the log: start the service")
            seal = await sealer(self._keys, page)
            position = await self._shadow.apply(page, seal)
            self._progress(ReplayProgress("making", position, upto))
            await asyncio.sleep(self._pause(time.monotonic() - began))
        if position > upto:
            raise NotReplayable(
                "the running views were rebuilt meanwhile; they were left as they are"
            )
        # The keys of running rows may be wrong: those of the new ones are the log's.
        self._keys_lost |= self._keys.lost.read.total() > lost_before

    def _kept(self, *, switch: bool) -> Kept | None:
        """Return why the running views are to stay, if they are.

        The log is the truth, unless some of it cannot be read now: the running views may know
        that from before.
        """
        if not self._different:
            return "equal"
        if not switch:
            return "not-asked"
        if self._newly_aside:
            return "damaged-log"
        return "lost-keys" if self._keys_lost else None

    async def _switch(self) -> int:
        """Let the new build take over; return at which position.

        Raises:
            NotReplayable: The running views move on too fast.
        """
        for _ in range(TRIES):
            position = await self._shadow.position()
            await self._events.head()
            page = await read_past(self._events, position, LAST_PAGE)
            seal = await sealer(self._keys, page)
            self._progress(ReplayProgress("switching", position, position + len(page)))
            if await self._shadow.take_over(page, seal):
                return await self._running.position()
            await self._advance(await self._running.position())
        raise NotReplayable("the running views move on too fast; they were left as they are")

    async def _compare(self) -> None:
        for table in self._tables:
            after: str | None = ""
            while after is not None:
                after = await self._compare_page(table, after)
                position, rows = self._position, self._rows.total()
                self._progress(ReplayProgress("comparing", position, position, rows))

    async def _compare_page(self, table: Table[Any], after: str) -> str | None:
        """Compare rows with an id after *after* at one position; return the last such id.

        The running rows are read together with their checkpoint, and no other process moves the
        new ones on: they are brought to that checkpoint.
        """
        self._position, ours = await self._running.page(table, after, ROWS)
        await self._advance(self._position)
        _, theirs = await self._shadow.page(table, after, ROWS)
        upto = min(
            (rows[-1].row_id for rows in (ours, theirs) if len(rows) == ROWS), default=None
        )
        running, rebuilt = (
            {row.row_id: row for row in rows if upto is None or row.row_id <= upto}
            for rows in (ours, theirs)
        )
        for row_id in sorted(running.keys() | rebuilt.keys()):
            one, other = running.get(row_id), rebuilt.get(row_id)
            self._rows[table.name] += 1
            difference = await self._difference(table, row_id, one, other)
            if difference is not None:
                self._different[table.name] += 1
                self._newly_aside |= table is ASIDE and _is_aside(other) > _is_aside(one)
                if len(self._differences) < KEPT:
                    self._differences.append(difference)
        return upto

    async def _difference(
        self,
        table: Table[Any],
        row_id: str,
        running: StoredRow | None,
        rebuilt: StoredRow | None,
    ) -> RowDifference | None:
        """Return how the two differ; ``None`` if their contents are the same."""
        if running == rebuilt:
            return None
        try:
            one, other = [await self._contents(table, row) for row in (running, rebuilt)]
        except msgspec.MsgspecError:
            return RowDifference(table.name, row_id, why="unreadable")
        if one == other:
            return None
        why = ""
        if one.shown == other.shown:
            why = "contacts" if one.contacts != other.contacts else "tag"
        return RowDifference(table.name, row_id, one.shown, other.shown, why)

    async def _contents(self, table: Table[Any], row: StoredRow | None) -> "_Contents":
        """Return the contents of *row*; a result is opened, since it is sealed at every write.

        Raises:
            msgspec.MsgspecError: It is damaged.
        """
        contents = None if row is None else table.decode(row.row)
        # The row of a stream that was mended is of no use any more.
        if row is None or (isinstance(contents, AsideRow) and contents.mended):
            return _Contents(None)
        if not isinstance(contents, ResultRow):
            return _Contents(msgspec.to_builtins(contents), row.tag)
        shown = {"head": msgspec.json.decode(contents.head), "key": contents.key}
        try:
            return _Contents(shown, contacts=await open_contacts(self._keys, contents) or b"[]")
        except LogUnavailable as error:
            if isinstance(error.__cause__, InvalidTag):
                return _Contents(shown)
            raise


class _Contents(NamedTuple):
    """The contents of a row: those that may be shown, its tag, and the contacts in it."""

    shown: Any
    tag: str | None = None
    contacts: bytes = b""


def _is_aside(row: StoredRow | None) -> bool:
    return row is not None and row.tag == SET_ASIDE
