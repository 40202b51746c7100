"""Comparing the rows of views made anew with those of the running ones, row by row."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.mapper import DataKeys
from cs.projections.anew import StoredRow
from cs.projections.projection import Projection
from cs.projections.result_contacts import ResultContacts
from cs.projections.rows import Table
from cs.projections.searches import ResultRow
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow

#: Rows of each side in memory at once.
PAGE = 1_000
#: Differences that are kept; the others are counted.
KEPT = 100

#: Gives up to so many rows of a table with an id after this one, by id.
Pages = Callable[[str, str, int], Awaitable[Sequence[StoredRow]]]


class RowDifference(msgspec.Struct, frozen=True):
    """One row that is not what the log makes of it.

    Attributes:
        table, row_id: Which.
        running, anew: What it says; ``None``: it is not there.  What is sealed is left out.
        why: If what it says is not shown: ``unreadable``, ``contacts`` (people are in it) or
            ``tag`` (what it is looked up by).
    """

    table: str
    row_id: str
    running: Any = None
    anew: Any = None
    why: str = ""


class ViewComparison:
    """What was found so far.

    Attributes:
        rows: Compared, by table.
        different: Of those, by table.
        differences: The first `KEPT` of them.
        newly_aside: Streams that only the views made anew have set aside.
    """

    def __init__(self) -> None:
        self.rows = Counter[str]()
        self.different = Counter[str]()
        self.differences: list[RowDifference] = []
        self.newly_aside = 0

    def add(self, difference: RowDifference) -> None:
        self.different[difference.table] += 1
        if len(self.differences) < KEPT:
            self.differences.append(difference)


async def compare(
    projections: Sequence[Projection],
    running: Pages,
    anew: Pages,
    keys: DataKeys,
    compared: Callable[[ViewComparison], None] = lambda _: None,
) -> ViewComparison:
    """Return how the rows of *running* and *anew*, of one position, differ.

    They are the same if they say the same: a result is sealed anew whenever it is written, so
    it is opened, and read beside the other one.

    Args:
        projections: Whose rows they are.
        running: The rows of the ones.
        anew: Those of the others.
        keys: Open results.
        compared: Called now and then with what was found so far.

    Raises:
        LogUnavailable: Rows or keys cannot be read now.
    """
    found, same = ViewComparison(), _Sameness(keys)
    tables: list[Table[Any]] = [table for p in projections for table in p.tables]
    for table in (*tables, ASIDE):
        async for row_id, one, other in _side_by_side(table.name, running, anew):
            found.rows[table.name] += 1
            difference = await same.difference(table, row_id, one, other)
            if difference is not None:
                found.add(difference)
                found.newly_aside += table is ASIDE and _is_aside(other) > _is_aside(one)
            if found.rows[table.name] % PAGE == 0:
                compared(found)
        compared(found)
    return found


async def _side_by_side(
    table: str, running: Pages, anew: Pages
) -> AsyncIterator[tuple[str, StoredRow | None, StoredRow | None]]:
    """Yield each id in either, and the row of each that has one."""
    one, other = _TableReader(table, running), _TableReader(table, anew)
    while True:
        left, right = await one.next(), await other.next()
        ids = [each.row_id for each in (left, right) if each is not None]
        if not ids:
            return
        row_id = min(ids)  # as both stores order them: by bytes of UTF-8
        yield (
            row_id,
            one.take() if left is not None and left.row_id == row_id else None,
            other.take() if right is not None and right.row_id == row_id else None,
        )


class _TableReader:
    """Reads a table page by page."""

    def __init__(self, table: str, pages: Pages) -> None:
        self._table = table
        self._pages = pages
        self._rows: Sequence[StoredRow] = ()
        self._at = 0
        self._after = ""
        self._ended = False

    async def next(self) -> StoredRow | None:
        """Return the next row; ``None`` at the end."""
        if self._at >= len(self._rows) and not self._ended:
            self._rows = await self._pages(self._table, self._after, PAGE)
            self._at = 0
            self._ended = len(self._rows) < PAGE
            if self._rows:
                self._after = self._rows[-1].row_id
        return self._rows[self._at] if self._at < len(self._rows) else None

    def take(self) -> StoredRow:
        self._at += 1
        return self._rows[self._at - 1]


class _Unreadable(msgspec.Struct, frozen=True):
    """In the place of a row that is damaged."""


class _Sameness:
    """Tells whether rows say the same."""

    def __init__(self, keys: DataKeys) -> None:
        self._results = ResultContacts(keys)

    async def difference(
        self, table: Table[Any], row_id: str, running: StoredRow | None, anew: StoredRow | None
    ) -> RowDifference | None:
        """Return how *running* and *anew* differ; ``None`` if they say the same."""
        if running == anew:
            return None
        one, other = _said(table, running), _said(table, anew)
        why = ""
        if isinstance(one, _Unreadable) or isinstance(other, _Unreadable):
            why = "unreadable"
        elif isinstance(one, ResultRow) and isinstance(other, ResultRow):
            if (one.head, one.key) == (other.head, other.key):
                why = "" if await self._same_contacts(one, other) else "contacts"
                if not why:
                    return None
        elif one == other:
            if one is None or (running and running.tag) == (anew and anew.tag):
                return None
            why = "tag"
        return RowDifference(table.name, row_id, _shown(one), _shown(other), why)

    async def _same_contacts(self, one: ResultRow, other: ResultRow) -> bool:
        try:
            shown = [await self._results.contacts(row) or b"[]" for row in (one, other)]
        except LogUnavailable as error:
            if isinstance(error.__cause__, InvalidTag):
                return False
            raise
        return shown[0] == shown[1]


def _said(table: Table[Any], row: StoredRow | None) -> msgspec.Struct | None:
    """Return what *row* says, ``None`` if it says nothing."""
    if row is None:
        return None
    try:
        said: msgspec.Struct = table.decode(row.row)
    except msgspec.MsgspecError:
        return _Unreadable()
    # The row of a stream that was mended is of no use any more.
    return None if isinstance(said, AsideRow) and said.mended else said


def _shown(said: msgspec.Struct | None) -> Any:
    match said:
        case None | _Unreadable():
            return None
        case ResultRow(head=head, key=key):
            return {"head": msgspec.json.decode(head), "key": key}
        case _:
            return msgspec.to_builtins(said)


def _is_aside(row: StoredRow | None) -> bool:
    return row is not None and row.tag == SET_ASIDE
