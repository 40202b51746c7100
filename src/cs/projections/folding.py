"""Applying a page of events to rows, with one statement for the rows of each table.

A damaged event sets its stream aside (`cs.projections.set_aside`), and so does an event that a
table cannot fold: it can be read, but nothing of ours can have written it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from structlog import get_logger

from cs.domain.brand.events import (
    ContactBounced,
    ContactsErased,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
)
from cs.domain.cause import fault
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import EventNeeds, LogUnavailable, RecordedEvent
from cs.eventlog.sealing import seal_bytes
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.projections.builds import Build
from cs.projections.searches import key_of
from cs.projections.set_aside import ASIDE, AsideRow, row_id
from cs.projections.table import SealBody, Table
from cs.runtime.sql import Work

log = get_logger()

#: Rows by id, by table.
TableRows: TypeAlias = dict[Table[Any], dict[str, Any]]

#: The parts of events that the writer of views reads: people in bodies, and the
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
#: Errors that a fold raises at an event that makes no sense.
_SENSELESS = (
    LookupError,
    ArithmeticError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
)


def folded(
    tables: Sequence[Table[Any]],
    page: Sequence[RecordedEvent],
    build: Build,
    aside: set[str],
) -> Work[TableRows]:
    """Return the rows of *build* that *page* changes, as they are after it.

    Streams with an id in *aside* are passed over; those that the page sets aside are added.
    """
    readers = {
        kind: [table for table in tables if kind in table.reads]
        for kind in {type(recorded.event) for recorded in page}
    }
    of_events = [
        [
            (table, key)
            for table in readers[type(recorded.event)]
            if (key := table.key(recorded)) is not None
        ]
        for recorded in page
    ]
    wanted: dict[Table[Any], set[str]] = {}
    for table, key in (each for of_event in of_events for each in of_event):
        wanted.setdefault(table, set()).add(key)
    rows: TableRows = {}
    for table, keys in wanted.items():
        found = yield _ROWS.format(table=build.table(table.name)), list(keys)
        rows[table] = {key: table.decode(data) for key, data in found}
    changed: TableRows = {}
    for recorded, of_event in zip(page, of_events, strict=True):
        stream = row_id(recorded.position, recorded.stream)
        if stream in aside:
            continue
        after = (
            None if isinstance(recorded, UnreadableEvent) else _after(recorded, of_event, rows)
        )
        if after is None:
            aside.add(stream)
            changed.setdefault(ASIDE, {})[stream] = AsideRow(
                position=recorded.position, stream=recorded.stream, version=recorded.version
            )
            continue
        for (table, key), row in zip(of_event, after, strict=True):
            if row is not None and row is not rows[table].get(key):
                rows[table][key] = row
                changed.setdefault(table, {})[key] = row
    return changed


def _after(
    recorded: RecordedEvent, of_event: Sequence[tuple[Table[Any], str]], rows: TableRows
) -> list[Any] | None:
    """Return the rows of an event after it; ``None``: it makes no sense."""
    try:
        return [table.fold(rows[table].get(key), recorded) for table, key in of_event]
    except _SENSELESS as error:
        log.error("event_makes_no_sense", position=recorded.position, **fault(error))  # noqa: TRY400
        return None


async def sealer(keys: KeyStore, page: Sequence[RecordedEvent]) -> SealBody:
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


_ROWS = "SELECT id, row FROM {table} WHERE id = ANY($1::text[])"
