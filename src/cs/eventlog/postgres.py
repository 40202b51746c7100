"""The event log in PostgreSQL, for any number of processes.

Positions have no gaps and become visible in their order (migration 0001), so what a page
or a stream lacks is damage and is told as such, and events kept in memory follow each other
if their positions do, whoever wrote the others.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from typing import Any, Self, cast

import asyncpg
import msgspec
from cryptography.exceptions import InvalidTag

from cs.domain.key import DAY
from cs.eventlog.batch_recorder import Prepared
from cs.eventlog.group_writer import GroupWriter
from cs.eventlog.mapper import (
    DataKeys,
    StoredRow,
    domain_form,
    envelopes,
    readable,
    store_form,
)
from cs.eventlog.port import NO_STREAM, Append, Ceiling, LogUnavailable, Recorded, Stored
from cs.eventlog.postgres_append import PostgresAppender
from cs.eventlog.postgres_listening import LAST_POSITION, Listening
from cs.eventlog.recent import Recent
from cs.keystore.port import KeysUnavailable
from cs.postgres.errors import DatabaseAway
from cs.postgres.pool import Pool, connected

#: What decoding raises if a stored event is not what was stored.
_DAMAGED = (msgspec.MsgspecError, InvalidTag, ValueError, LookupError, TypeError)


class PostgresEventLog:
    """Use as ``async with``.  Entering needs no database: it may come later.

    Args:
        pool: Two of its connections are kept, to write and to listen.
        keys: What seals and opens personal values.
        waiting: Appends that may wait to be written; one more is `LogUnavailable`.
    """

    def __init__(self, pool: Pool, keys: DataKeys, *, waiting: int | None = None) -> None:
        self._pool = pool
        self._keys = keys
        self._appender = PostgresAppender(pool)
        self._writer = GroupWriter[Prepared, int](
            self._appender.write, self._wrote, waiting=waiting
        )
        self._recent = Recent()
        self._heard = False  # how far the log goes
        self._stack = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> Self:
        self._stack.push_async_callback(self._appender.close)
        await self._stack.enter_async_context(self._writer)
        listening = asyncio.create_task(
            Listening(self._pool, self._moved).run(), name="log-listening"
        )

        async def stop_listening() -> None:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

        self._stack.push_async_callback(stop_listening)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        await self._stack.aclose()

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        try:
            stored = await store_form(self._keys, list(envelopes(appends)))
        except KeysUnavailable as error:
            raise LogUnavailable(f"the data keys could not be stored: {error}") from error
        return await self._writer.submit(Prepared(appends, stored, ceiling))

    def _moved(self, head: int) -> None:
        self._heard = True
        self._recent.moved(head)

    def _wrote(self, request: Prepared, last: int) -> None:
        position = last - len(request.stored)
        events = []
        for append in request.appends:
            for n, event in enumerate(append.events, 1):
                position += 1
                events.append(Recorded(position, append.stream, append.expected + n, event))
        self._recent.add(events)

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[Recorded]:
        rows = await self._rows(_STREAM, stream, after, limit)
        if rows and rows[-1][2] != after + len(rows):
            raise LogUnavailable(f"the log is damaged: an event of {stream} is missing")
        return await self._recorded(rows)

    async def tail(self, after: int, limit: int = 500) -> Sequence[Recorded]:
        recent = self._recent.after(after, limit)
        if recent is not None and self._heard:
            upto = recent[-1].position if recent else after
            if len(recent) == limit or upto >= self._recent.head:
                return recent  # else another process's events come next, or unanswered ones
        events = await self._recorded(readable(await self._page(after, limit)))
        self._recent.hear(events)
        return events

    async def stored(self, after: int, limit: int = 500) -> Sequence[Stored]:
        return [Stored(*row) for row in await self._page(after, limit)]

    async def _page(self, after: int, limit: int) -> Sequence[StoredRow]:
        rows = await self._rows(_PAGE, after, limit)
        if rows[-1][0] != after + len(rows) if rows else limit and after < self._recent.head:
            raise LogUnavailable(f"the log is damaged: an event after {after} is missing")
        return rows

    async def head(self) -> int:
        self._moved(await self._value(LAST_POSITION))  # so that `tail` goes that far
        return self._recent.head

    async def grown(self, after: int) -> None:
        await self._recent.wait(after)

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        started_at: datetime | None = await self._value(_START, ceiling.limit)
        if started_at is None:
            return None
        opens_at = started_at + DAY
        return opens_at if opens_at > ceiling.at else None

    async def _recorded(self, rows: Sequence[StoredRow]) -> Sequence[Recorded]:
        try:
            return await domain_form(self._keys, rows)
        except KeysUnavailable as error:
            raise LogUnavailable(f"the data keys could not be read: {error}") from error
        except _DAMAGED as error:
            if len(rows) > 1:
                for row in rows:  # which one is it?
                    await self._recorded([row])
            position, stream, version, _, _ = rows[0]
            raise LogUnavailable(
                f"event {position}, {stream} version {version}, is damaged: {error!r}"
            ) from error

    async def _rows(self, query: str, *arguments: object) -> Sequence[StoredRow]:
        return cast("Sequence[StoredRow]", await self._fetch(query, arguments))

    async def _value(self, query: str, *arguments: object) -> Any:
        rows = await self._fetch(query, arguments)
        return rows[0][0] if rows else None

    async def _fetch(self, query: str, arguments: Sequence[object]) -> Sequence[asyncpg.Record]:
        if self._closed:
            raise LogUnavailable("the log is closed")
        try:
            async with connected(self._pool) as connection:
                return await connection.fetch(query, *arguments)
        except (DatabaseAway, asyncpg.PostgresError) as error:
            raise LogUnavailable(f"the log could not be read: {error}") from error


_COLUMNS = "notification_id, originator_id, originator_version, topic, state"
_STREAM = f"""
SELECT {_COLUMNS} FROM stored_events
WHERE originator_id = $1 AND originator_version > $2 ORDER BY originator_version LIMIT $3
"""  # noqa: S608
_PAGE = f"""
SELECT {_COLUMNS} FROM stored_events
WHERE notification_id > $1 ORDER BY notification_id LIMIT $2
"""  # noqa: S608
_START = """
SELECT started_at FROM lookup_starts
WHERE number = (SELECT COALESCE(max(number), 0) FROM lookup_starts) + 1 - $1
"""
