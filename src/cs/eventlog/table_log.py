"""What an event log over a table of stored events does, whichever database holds it.

Statements that read are written once, for PostgreSQL; the table is that of the library
eventsourcing.  SQLite has positions as its row ids, and the rest as `cs.sqlite.sql` spells it.

Positions have no gaps and become visible in their order, so what a page or a stream lacks
is damage and is raised as such; and events in memory follow each other if their positions
do, whichever process wrote the others.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from operator import itemgetter
from time import perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.domain.codec import event_of
from cs.eventlog.categories import category_name
from cs.eventlog.mapper import (
    FORGETTING,
    NewEvent,
    StoredRow,
    readable,
    recorded,
    store_form,
)
from cs.eventlog.port import (
    EVERYBODY,
    NO_STREAM,
    Append,
    AppendInDoubt,
    Ceiling,
    CeilingReached,
    DamagedEvent,
    EventNeeds,
    LogUnavailable,
    NewerEvent,
    RecordedEvent,
    SealedEvent,
    Where,
    WrongExpectedVersion,
)
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.metrics.metrics import Metrics
from cs.runtime import failpoints
from cs.runtime.batcher import Batcher, BatcherClosed, BatcherFull
from cs.runtime.coordination import Broadcast

#: Appends in one transaction: a durable commit costs about the same for one as for many.
BATCH = 512
#: Appends that wait unless the caller says otherwise.
WAITING = 10_000
#: How an append ended: the first that fits; a caller who gave up is none of the errors.
_RESULTS: tuple[tuple[type[BaseException], str], ...] = (
    (WrongExpectedVersion, "conflict"),
    (CeilingReached, "ceiling"),
    (AppendInDoubt, "in_doubt"),
    (LogUnavailable, "unavailable"),
    (KeysUnavailable, "unavailable"),
    (BatcherClosed, "unavailable"),
    (BatcherFull, "unavailable"),
    (Exception, "failed"),
    (BaseException, "given_up"),
)
#: As a limit: no limit.
_ALL = 2**62
#: Events in memory.  A follower further behind reads the store.
MAX_EVENTS = 4096
#: Bytes of them, as they are stored.  Most are below 2 KB; one with a hundred people may be a
#: hundred times that.
MAX_BYTES = 16 * 2**20
_COLUMNS = "notification_id, originator_id, originator_version, topic, state"
_STREAM = f"""
SELECT {_COLUMNS} FROM stored_events
WHERE originator_id = $1 AND originator_version > $2 ORDER BY originator_version LIMIT $3
"""  # noqa: S608
_PAGE = f"""
SELECT {_COLUMNS} FROM stored_events
WHERE notification_id > $1 ORDER BY notification_id LIMIT $2
"""  # noqa: S608
LAST_POSITION = "SELECT COALESCE(max(notification_id), 0) FROM stored_events"


class RecentEvents:
    """Wakes followers when the log grows, and has its newest events in memory.

    All who follow a log in one process read through this, so that the store is asked once for
    an event, whichever process appended it, and not at all for what this process appended.
    They are kept as they are stored: people sealed.
    """

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._rows: dict[int, StoredRow] = {}  # by position, not all of them
        self._bytes = 0
        self._unlike_given = 0  # the last position that may not read as it was given
        self._dropped = 0  # the last position that is in memory no more
        self._grew = Broadcast()

    @property
    def floor(self) -> int:
        """The position after which events are kept in memory."""
        return max(self._dropped, self.head - MAX_EVENTS)

    def add(self, rows: Iterable[StoredRow], *, as_given: bool = True) -> None:
        """Add events just appended or read, in order of position.

        Args:
            rows: The events.
            as_given: As in `StoreForm`.
        """
        newest = self.head
        for row in rows:
            newest = row[0]
            if newest <= self.floor or newest in self._rows:
                continue
            if event_of(row[3]) in FORGETTING:
                self._unlike_given = max(self._unlike_given, newest - 1)
            self._rows[newest] = row
            self._bytes += len(row[4] or b"")  # a damaged row may have none
            while len(self._rows) > MAX_EVENTS or self._bytes > MAX_BYTES:
                oldest = next(iter(self._rows))
                self._bytes -= len(self._rows.pop(oldest)[4] or b"")
                self._dropped = max(self._dropped, oldest)
        if not as_given:
            self._unlike_given = max(self._unlike_given, newest)
        self.moved(newest)

    def moved(self, head: int) -> None:
        """Note that the log reaches to *head*."""
        if head > self.head:
            self.head = head
            self._grew.notify_all()

    def after(self, position: int, limit: int) -> Sequence[StoredRow]:
        """Return the events after *position*, up to the first that is not in memory."""
        found = []
        for number in range(position + 1, position + limit + 1):
            row = self._rows.get(number)
            if row is None:
                break
            found.append(row)
        return found

    def reads_as_given(self, position: int) -> bool:
        return position > self._unlike_given

    def clear(self) -> None:
        """Forget the events, not how far the log reaches."""
        self._rows.clear()
        self._bytes = 0

    async def wait(self, after: int) -> None:
        while self.head <= after:
            await self._grew.wait()


class PreparedAppend(msgspec.Struct, frozen=True):
    """One append, ready to store.

    Attributes:
        appends: One for each stream.
        given: The same as it was given, perhaps several for one stream.
        as_given: As in `StoreForm`.
    """

    appends: Sequence[Append]
    stored: Sequence[NewEvent]
    ceiling: Ceiling | None
    given: Sequence[Append]
    as_given: bool = True


def joined(appends: Sequence[Append]) -> Sequence[Append]:
    """Return *appends* with one for each stream: those that follow each other are one.

    Raises:
        ValueError: They do not follow each other.
    """
    if len(appends) == 1:
        return appends
    found: dict[str, Append] = {}
    for each in appends:
        before = found.get(each.stream)
        if before is None:
            found[each.stream] = each
        elif each.expected != before.expected + len(before.events):
            raise ValueError(f"appends to {each.stream} do not follow each other")
        else:
            found[each.stream] = replace(before, events=(*before.events, *each.events))
    return list(found.values())


class TableLog(ABC):
    """Base of the SQLite and PostgreSQL logs: seals and checks; they read and write rows.

    Args:
        keys: What seals and opens personal values.
        waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        metrics: Where appends are counted.

    Attributes:
        wanted: What is read of events unless a caller says otherwise.
    """

    def __init__(
        self, keys: KeyStore, *, waiting: int | None, metrics: Metrics | None = None
    ) -> None:
        self.wanted = EVERYBODY
        self._keys = keys
        self._metrics = metrics or Metrics()
        self._recent = RecentEvents()
        #: Whether the last position was ever read; before, the log only looks empty.
        self._head_known = False
        self._reading = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._closed = False
        self._writer = Batcher[PreparedAppend, int](
            self._write_batch, size=BATCH, waiting=WAITING if waiting is None else waiting
        )
        self._metrics.appends_waiting.measure(lambda: self._writer.waiting)

    async def _write_batch(
        self, requests: Sequence[PreparedAppend]
    ) -> Sequence[int | Exception]:
        self._metrics.append_batch.of().observe(len(requests))
        failpoints.reach("log.before-write")
        try:
            answers = await self._write(requests)
        except Exception as error:  # noqa: BLE001  each caller is answered
            return [_unwritten(error) for _ in requests]
        failpoints.reach("log.before-answer")
        for request, answer in zip(requests, answers, strict=True):
            if not isinstance(answer, Exception):
                self._wrote(request, answer)
        return answers

    @abstractmethod
    async def _write(self, requests: Sequence[PreparedAppend]) -> Sequence[int | Exception]:
        """Store each request; return its last position, or why it was not stored."""

    @abstractmethod
    async def _fetch(self, sql: str, *parameters: object) -> Sequence[Any]:
        """Return the rows of *sql*, written for PostgreSQL."""

    async def _fetch_few(self, sql: str, *parameters: object) -> Sequence[Any]:
        """Return what `_fetch` does, of few rows that were just written."""
        return await self._fetch(sql, *parameters)

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        await self._stack.aclose()

    def _begin(self, following: Coroutine[Any, Any, None], name: str) -> None:
        """Take appends, and run *following* until the log is left."""
        self._stack.push_async_callback(self._writer.close)
        task = asyncio.create_task(following, name=name)

        async def stop() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self._stack.push_async_callback(stop)

    async def _last_position(self) -> int:
        """Return the last stored position; 0 if there is none."""
        ((position,),) = await self._fetch(LAST_POSITION)
        self._head_known = True
        return int(position)

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        began = perf_counter()
        try:
            form = await store_form(self._keys, appends)
            stored = await self._writer.submit(
                PreparedAppend(
                    joined(appends), form.stored, ceiling, appends, as_given=form.as_given
                )
            )
        except BaseException as error:
            result = next(name for kind, name in _RESULTS if isinstance(error, kind))
            self._metrics.appends.of(result).inc()
            if isinstance(error, KeysUnavailable):
                why = f"the data keys could not be stored: {error}"
                raise LogUnavailable(why) from error
            if isinstance(error, BatcherClosed):
                raise LogUnavailable("the log is stopping, or not open") from error
            if isinstance(error, BatcherFull):
                raise LogUnavailable(f"the log is full of appends: {error}") from error
            raise
        self._metrics.appends.of("stored").inc()
        self._metrics.append_seconds.of().observe(perf_counter() - began)
        return stored

    def _wrote(self, request: PreparedAppend, last: int) -> None:
        for append in request.given:
            category = category_name(append.stream)
            self._metrics.events_appended.of(category).inc(len(append.events))
        first = last - len(request.stored) + 1
        rows = [(n, *event) for n, event in enumerate(request.stored, first)]
        self._recent.add(rows, as_given=request.as_given)

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        # What came since is a row or two that was just written, wanted at every call.
        few = after != NO_STREAM and limit is not None
        fetch = self._fetch_few if few else self._fetch
        rows = await fetch(_STREAM, stream, after, _ALL if limit is None else limit)
        if not rows:
            return ()  # as at most calls
        if rows[-1][2] != after + len(rows):
            version = next(n for n, row in enumerate(rows, after + 1) if row[2] != n)
            why = f"the log is damaged: an event of {stream} is missing"
            raise DamagedEvent(0, stream, version, why)
        return await recorded(self._keys, rows, self.wanted)

    def reads_as_given(self, position: int) -> bool:
        return self._recent.reads_as_given(position)

    async def tail(
        self, after: int, limit: int = 500, wanted: EventNeeds | None = None
    ) -> Sequence[RecordedEvent]:
        read = self._page if after + limit <= self._recent.floor else self._newest
        rows = readable(await read(after, limit))
        try:
            return await recorded(self._keys, rows, wanted or self.wanted)
        except (DamagedEvent, NewerEvent):
            self._recent.clear()  # the store may have another event there later
            raise

    async def _newest(self, after: int, limit: int) -> Sequence[StoredRow]:
        found = self._recent.after(after, limit)
        if self._is_all(found, after, limit):
            return found
        async with self._reading:  # what others want too is read once, by the first of them
            found = self._recent.after(after, limit)
            if self._is_all(found, after, limit):
                return found
            upto = found[-1][0] if found else after
            rows = await self._page(upto, limit - len(found))
            if any(event_of(row[3]) in FORGETTING for row in rows):
                self._keys.forget()  # also if no follower here reads those events
            self._recent.add(rows)
            return [*found, *rows]

    def _is_all(self, found: Sequence[StoredRow], after: int, limit: int) -> bool:
        """Return whether the store has nothing to add to what was *found* in memory."""
        if len(found) == limit:
            return True
        upto = found[-1][0] if found else after
        return self._head_known and upto >= self._recent.head

    async def stored(self, after: int, limit: int = 500) -> Sequence[SealedEvent]:
        return [SealedEvent(*row) for row in await self._page(after, limit)]

    async def select(self, where: Where, after: int, upto: int) -> Sequence[SealedEvent]:
        sql, parameters = _select_where(where, after, upto)
        rows: Sequence[StoredRow] = await self._fetch(sql, *parameters)
        return [SealedEvent(*row) for row in sorted(rows, key=itemgetter(0))]

    async def _page(self, after: int, limit: int) -> Sequence[StoredRow]:
        rows: Sequence[StoredRow] = await self._fetch(_PAGE, after, limit)
        if rows and rows[-1][0] != after + len(rows):
            position = next(n for n, row in enumerate(rows, after + 1) if row[0] != n)
            why = f"the log is damaged: an event after {after} is missing"
            raise DamagedEvent(position, "", NO_STREAM, why)
        for row in rows:
            if "\ufffd" in row[1]:  # its stream is unknown
                why = f"the log is damaged: the stream of event {row[0]} cannot be read"
                raise DamagedEvent(row[0], "", NO_STREAM, why)
        if not rows and limit and after < self._recent.head:
            raise LogUnavailable(f"the log is damaged: an event after {after} is missing")
        return rows

    async def head(self) -> int:
        last = await self._last_position()
        self._recent.moved(last)  # so that `tail` goes that far
        return last  # of a log that was replaced, it may be less than what is in memory

    async def grown(self, after: int) -> None:
        await self._recent.wait(after)


def _select_where(where: Where, after: int, upto: int) -> tuple[str, list[object]]:
    """Return the statement that selects *where*, in no order, and its parameters."""
    parameters: list[object] = [after, upto]

    def given(value: object) -> str:
        parameters.append(value)
        return f"${len(parameters)}"

    # By the index of streams where it can be: + keeps SQLite from reading all positions.
    by_stream = where.streams is not None and not where.prefixes
    position = "+notification_id" if by_stream else "notification_id"
    conditions = [f"{position} > $1", f"{position} <= $2"]
    if where.topics is not None:
        conditions.append(f"topic = ANY({given(sorted(where.topics))}::text[])")
    if where.streams is not None or where.prefixes is not None:
        of = [f"originator_id = ANY({given(sorted(where.streams or ()))}::text[])"]
        of += [
            f"substr(originator_id, 1, length({each}::text)) = {each}"
            for each in map(given, sorted(where.prefixes or ()))
        ]
        conditions.append(f"({' OR '.join(of)})")
    return f"SELECT {_COLUMNS} FROM stored_events WHERE {' AND '.join(conditions)}", parameters  # noqa: S608


def _unwritten(error: Exception) -> LogUnavailable:
    """Return what one caller of a batch is raised that was not written because of *error*."""
    kind = AppendInDoubt if isinstance(error, AppendInDoubt) else LogUnavailable
    unavailable = kind(f"the log could not write: {error}")
    unavailable.__cause__ = error
    return unavailable
