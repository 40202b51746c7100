"""The event log in PostgreSQL, for any number of processes.

Migration 0001 sees to it that positions have no gaps and become visible in their order.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from typing import Any, Self

import asyncpg

from cs.domain.messages import STANDS_STILL
from cs.domain.rate_limits import DAY, opens_after
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.lookup_starts import STARTS_KEPT
from cs.eventlog.mapper import DataKeys, StoredRow
from cs.eventlog.port import Ceiling, Where
from cs.eventlog.postgres.append import PostgresAppender
from cs.eventlog.postgres.listening import LAST_POSITION, follow_last_position
from cs.eventlog.table_log import PreparedAppend, TableLog
from cs.metrics.metrics import Metrics
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, connected
from cs.postgres.pruning import PAGE


class PostgresEventLog(TableLog):
    """Use as ``async with``.  Entering needs no database: it may come later.

    Args:
        pool: Two of its connections are held, to write and to listen.
        keys: What seals and opens personal values.
        waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        metrics: Where appends are counted.
    """

    def __init__(
        self,
        pool: Pool,
        keys: DataKeys,
        *,
        waiting: int | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(keys, waiting=waiting, metrics=metrics)
        self._pool = pool
        self._appender = PostgresAppender(pool)
        self._head_known = False
        self._stack = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> Self:
        self._stack.push_async_callback(self._appender.close)
        self._stack.push_async_callback(self._writer.close)
        # What was appended here is noted when that is answered, with the events themselves: a
        # notification comes before, and followers would read them from the database.
        listening = asyncio.create_task(
            follow_last_position(
                self._pool, self._moved, own_backend=lambda: self._appender.backend
            ),
            name="log-listening",
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

    def _moved(self, head: int) -> None:
        self._head_known = True
        self._recent.moved(head)

    async def _write(self, requests: Sequence[PreparedAppend]) -> Sequence[int | Exception]:
        return await self._appender.write(requests)

    async def _select_stream(
        self, stream: str, after: int, limit: int | None
    ) -> Sequence[StoredRow]:
        return await self._rows(_STREAM, stream, after, limit)

    async def _select_page(self, after: int, limit: int) -> Sequence[StoredRow]:
        return await self._rows(_PAGE, after, limit)

    async def _select_where(self, where: Where, after: int, upto: int) -> Sequence[StoredRow]:
        topics, streams, prefixes = (
            None if values is None else sorted(values)
            for values in (where.topics, where.streams, where.prefixes)
        )
        if streams is not None and not prefixes:
            return await self._rows(_OF_STREAMS, after, upto, topics, streams)
        return await self._rows(_WHERE, after, upto, topics, streams, prefixes)

    async def _last_position(self) -> int:
        position: int = await self._value(LAST_POSITION)
        self._head_known = True
        return position

    def _knows_head(self) -> bool:
        return self._head_known

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        started_at: datetime | None = await self._value(_START, ceiling.limit)
        if started_at is None:
            return None
        if started_at > ceiling.at + STANDS_STILL:  # or `append_events` would count it
            async with connected(self._pool) as connection:
                await connection.execute(_COUNT_NO_MORE, ceiling.at, DAY, STANDS_STILL)
        return opens_after(started_at, ceiling.at)

    async def prune_starts(self) -> bool:
        """Remove a page of starts that the ceiling needs no more; return whether to go on.

        Raises:
            DatabaseUnavailable: Next time.
        """
        async with connected(self._pool) as connection:
            removed: str = await connection.execute(_PRUNE_STARTS, PAGE, STARTS_KEPT)
        return removed == f"DELETE {PAGE}"

    async def _rows(self, query: str, *arguments: object) -> Sequence[StoredRow]:
        return [tuple(row) for row in await self._fetch(query, arguments)]

    async def _value(self, query: str, *arguments: object) -> Any:
        rows = await self._fetch(query, arguments)
        return rows[0][0] if rows else None

    async def _fetch(self, query: str, arguments: Sequence[object]) -> Sequence[asyncpg.Record]:
        if self._closed:
            raise LogUnavailable("the log is closed")
        try:
            async with connected(self._pool) as connection:
                return await connection.fetch(query, *arguments)
        except (DatabaseUnavailable, asyncpg.PostgresError) as error:
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
_WHERE = f"""
SELECT {_COLUMNS} FROM stored_events
WHERE notification_id > $1 AND notification_id <= $2
AND ($3::text[] IS NULL OR topic = ANY($3))
AND (
    ($4::text[] IS NULL AND $5::text[] IS NULL)
    OR originator_id = ANY($4)
    OR EXISTS (SELECT 1 FROM unnest($5::text[]) AS p WHERE starts_with(originator_id, p))
)
ORDER BY notification_id
"""  # noqa: S608
# By the index of streams, however long the log is.
_OF_STREAMS = f"""
SELECT {_COLUMNS} FROM stored_events
WHERE notification_id > $1 AND notification_id <= $2
AND ($3::text[] IS NULL OR topic = ANY($3)) AND originator_id = ANY($4::text[])
ORDER BY notification_id
"""  # noqa: S608
_START = """
SELECT started_at FROM lookup_starts
WHERE number = (SELECT COALESCE(max(number), 0) FROM lookup_starts) + 1 - $1
"""
# Starts that a clock which was wrong has put into the future.
_COUNT_NO_MORE = """
UPDATE lookup_starts SET started_at = $1::timestamptz - $2::interval
WHERE started_at > $1::timestamptz + $3::interval
"""
# From the oldest on, up to the first that is still needed, never the newest: numbers go on
# from it.  What is old is measured from the newest, not by a clock.
_PRUNE_STARTS = """
WITH oldest AS (
    SELECT number, started_at FROM lookup_starts ORDER BY number LIMIT $1
), newest AS (
    SELECT number, started_at FROM lookup_starts ORDER BY number DESC LIMIT 1
), first_kept AS (
    SELECT COALESCE(
        min(o.number) FILTER (WHERE o.started_at > n.started_at - $2::interval),
        max(o.number) + 1
    ) AS number
    FROM oldest AS o, newest AS n
)
DELETE FROM lookup_starts AS s USING first_kept AS k, newest AS n
WHERE s.number < k.number AND s.number < n.number
"""
