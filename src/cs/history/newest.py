"""The newest events of a part of the log, read in bounded pieces from its end."""

from collections.abc import Callable, Sequence
from typing import Any

from cs.eventlog.categories import CATEGORIES, category_name
from cs.eventlog.port import (
    NO_STREAM,
    DamagedEvent,
    EventLog,
    NewerEvent,
    RecordedEvent,
    SealedEvent,
    Where,
)
from cs.eventlog.streams import FoldedState, Streams

#: Positions of the log that are looked through at once, from its end: few first, as they are
#: enough where most events are meant; and most of them for one page of rows.
FIRST, WINDOW, FARTHEST = 125, 2_000, 40_000
#: Events of one stream that are read for a page: of a longer one the newest.
NEWEST = 2_000


async def newest(
    log: EventLog,
    streams: Streams,
    where: Where,
    before: int | None,
    *,
    most: int,
    holds: Callable[[SealedEvent], bool] = lambda _: True,
    after: int = 0,
) -> tuple[Sequence[SealedEvent], int | None]:
    """Return up to *most* events of *where* that *holds*, the newest first.

    They stand before the position *before*, if it is given, and after *after*.  The second is
    the position to go on before; ``None``: there are no others.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    head = await log.head()
    end = head if before is None else min(max(before - 1, 0), head)
    read, window, lowest = where, FIRST, max(after, end - FARTHEST)
    if where.streams:
        last = await _last_of(streams, where)
        if last is not None and last.version <= NEWEST:
            window, lowest = max(end - after, 1), after  # all of the stream, by its name
        else:
            # By position: a long stream would be read whole for each window.
            end = end if last is None else min(end, last.position)
            lowest = max(after, end - FARTHEST)
            read = Where(where.topics, None, where.streams | (where.prefixes or frozenset()))
    found = list[SealedEvent]()
    while end > lowest and len(found) < most:
        begin = max(lowest, end - window)
        stored = await log.select(read, begin, end)
        found += [e for e in reversed(stored) if where.holds(e.stream, e.topic) and holds(e)]
        end, window = begin, min(4 * window, WINDOW)
    if len(found) > most:
        return found[:most], found[most - 1].position
    return found, end + 1 if end > after else None


async def _last_of(streams: Streams, where: Where) -> FoldedState[Any] | None:
    """Return where the one stream of *where* ends; ``None``: not known, or there are more."""
    named = [*(where.streams or ()), *(where.prefixes or ())]
    if len(named) > 1 or category_name(named[0]) not in CATEGORIES:
        return None
    try:
        return await streams.load(named[0])
    except (DamagedEvent, NewerEvent):
        return None  # as it is stored it can be shown


async def newest_of(
    log: EventLog, streams: Streams, stream: str, most: int = NEWEST
) -> Sequence[RecordedEvent]:
    """Return the newest events of *stream*, *most* of them, the newest first.

    A name that no stream can have, as a user may write it, has none.

    Raises:
        LogUnavailable, DamagedEvent: The stream cannot be read.
    """
    if category_name(stream) not in CATEGORIES:
        return ()
    last = (await streams.load(stream)).version
    return (await log.read(stream, max(last - most, NO_STREAM)))[::-1]
