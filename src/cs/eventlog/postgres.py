"""The event log in PostgreSQL, for any number of processes.

Migration 0001 sees to it that positions have no gaps and become visible in their order: a
batch of appends is one statement, which calls ``append_events``.  It takes a lock, checks,
inserts and commits by itself: a process that stops in the middle never holds the lock.

A statement whose answer is lost is sent again.  That stores nothing twice: every request
names the versions it follows, so what was stored the first time conflicts with itself, and
is known by its events stored there, byte for byte.

That the log grew is learned from notifications, which may be lost, and from a look every
second (`cs.postgres.listening`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NoReturn, Self, TypeAlias

import asyncpg
from structlog import get_logger

from cs.domain.messages import STANDS_STILL
from cs.domain.rate_limits import DAY, opens_after
from cs.eventlog.mapper import NewEvent
from cs.eventlog.port import (
    AppendInDoubt,
    Ceiling,
    CeilingReached,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.eventlog.table_log import LAST_POSITION, PreparedAppend, TableLog
from cs.keystore.port import KeyStore
from cs.metrics.metrics import Metrics
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.listening import Listener
from cs.postgres.pool import (
    DedicatedConnection,
    Pool,
    PooledConnection,
    connected,
    translate_errors,
)
from cs.runtime import failpoints

log = get_logger()

#: How long a batch whose answer was lost is sent again.
IN_DOUBT_S = 5.0
#: Wait between two tries.
_PAUSE_S = 0.05
#: How often a batch is sent again because another process wrote to the tables.
_UNIQUE_TRIES = 3
#: SQLSTATE class 42: the schema is not there or not ours.
_NO_SCHEMA = "42"
#: Where ``append_events`` notifies of the last position.
CHANNEL = "stored_events"
#: How often the last position is read all the same.
POLL_S = 1.0
#: How long that may take before another connection is tried.
_ANSWER_S = 2.0
#: Wait before the next connection is tried.
_RETRY_S = 0.25

#: How long starts stay in their table: twice what the ceiling counts, as clocks step back.
STARTS_KEPT = 2 * DAY
#: How often older ones are removed.
PRUNE_EVERY_S = 60.0

Answer: TypeAlias = int | Exception


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
        keys: KeyStore,
        *,
        waiting: int | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(keys, waiting=waiting, metrics=metrics)
        self._pool = pool
        self._connection = DedicatedConnection(pool)  # that appends

    async def __aenter__(self) -> Self:
        self._stack.push_async_callback(self._connection.drop)
        self._begin(self._follow_last_position(), "log-listening")
        return self

    # Writing.

    async def _write(self, requests: Sequence[PreparedAppend]) -> Sequence[Answer]:
        """Store each request or say why not; all that are stored commit together.

        Raises:
            AppendInDoubt: PostgreSQL is away; they may be stored.
            LogUnavailable: PostgreSQL is away; nothing was stored.
        """
        try:
            connection = await self._connection.get()
        except DatabaseUnavailable as error:
            raise LogUnavailable(f"{error}; nothing was stored") from error
        answers: Sequence[Answer]
        try:
            answers = await _send(connection, requests)
        except DatabaseUnavailable as error:
            answers = await self._in_doubt(requests, error)
        failpoints.reach("log.after-commit")
        return answers

    async def _in_doubt(
        self, requests: Sequence[PreparedAppend], lost: DatabaseUnavailable
    ) -> Sequence[Answer]:
        """Find out what became of *requests*.

        Raises:
            AppendInDoubt: Not known within `IN_DOUBT_S`.
        """
        log.warning("appends_in_doubt", appends=len(requests), why=str(lost))
        try:
            async with asyncio.timeout(IN_DOUBT_S):
                return await self._resend(requests)
        except TimeoutError:
            await self._connection.drop()
            raise AppendInDoubt(f"{lost}; what was stored is not known") from lost

    async def _resend(self, requests: Sequence[PreparedAppend]) -> Sequence[Answer]:
        """Send *requests* until answered; those in the log were stored the first time."""
        while True:
            await self._connection.drop()
            with suppress(DatabaseUnavailable):
                connection = await self._connection.get()
                answers = await _send(connection, requests)
                conflicts = {
                    n: requests[n]
                    for n, answer in enumerate(answers)
                    if isinstance(answer, WrongExpectedVersion)
                }
                stored = await _already_stored(connection, conflicts)
                return [stored.get(n, answer) for n, answer in enumerate(answers)]
            await asyncio.sleep(_PAUSE_S)

    # Listening.

    async def _follow_last_position(self) -> None:
        """Learn the last position for ever, on one connection, and another when it dies.

        What was appended here is noted when that is answered, with the events themselves: a
        notification comes before, and followers would read them from the database.
        """

        def on_payload(payload: str) -> None:
            if payload.isdigit():  # the library's are empty
                self._recent.moved(int(payload))
                self._head_known = True

        listener = Listener(
            self._pool, CHANNEL, on_payload, own_backend=lambda: self._connection.backend
        )
        try:
            while True:
                try:
                    connection = await listener.connect()
                    with translate_errors():
                        last = await connection.fetchval(LAST_POSITION, timeout=_ANSWER_S)
                    self._head_known = True
                    self._recent.moved(last)
                    await listener.wait(POLL_S)
                except (DatabaseUnavailable, asyncpg.PostgresError) as error:
                    log.warning("log_not_heard", why=str(error), retry_in_s=_RETRY_S)
                    await listener.close()
                    await asyncio.sleep(_RETRY_S)
        finally:
            await listener.close()

    # Reading.

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        rows = await self._fetch(_START, ceiling.limit)
        if not rows:
            return None
        ((started_at,),) = rows
        if started_at > ceiling.at + STANDS_STILL:  # or `append_events` would count it
            async with connected(self._pool) as connection:
                await connection.execute(_COUNT_NO_MORE, ceiling.at, DAY, STANDS_STILL)
        return opens_after(started_at, ceiling.at)

    async def prune_starts(self) -> NoReturn:
        """Remove starts that the ceiling needs no more, now and from time to time, for ever."""
        while True:
            try:
                async with connected(self._pool) as connection:
                    await connection.execute(_PRUNE_STARTS, STARTS_KEPT)
            except DatabaseUnavailable as error:
                log.warning("rows_not_pruned", why=str(error))
            await asyncio.sleep(PRUNE_EVERY_S)

    async def _fetch(self, sql: str, *parameters: object) -> Sequence[Any]:
        if self._closed:
            raise LogUnavailable("the log is closed")
        try:
            async with connected(self._pool) as connection:
                return [tuple(row) for row in await connection.fetch(sql, *parameters)]
        except (DatabaseUnavailable, asyncpg.PostgresError) as error:
            raise LogUnavailable(f"the log could not be read: {error}") from error


async def _send(
    connection: PooledConnection, requests: Sequence[PreparedAppend]
) -> list[Answer]:
    """Send *requests*, one by one if one of them may be at fault.

    Raises:
        DatabaseUnavailable: They are in doubt.
    """
    why: Exception
    for _ in range(_UNIQUE_TRIES):
        try:
            return await _call(connection, requests)
        except asyncpg.UniqueViolationError as error:
            why = error  # a writer does not take our lock: look at the versions again
        except (asyncpg.PostgresError, ValueError) as error:
            why = error
            break
    if len(requests) > 1 and not _of_the_schema(why):
        return [answer for each in requests for answer in await _send(connection, [each])]
    return [_refused(why) for _ in requests]


async def _call(
    connection: PooledConnection, requests: Sequence[PreparedAppend]
) -> list[Answer]:
    with translate_errors():
        (row,) = await connection.fetch(APPEND, *arguments(requests))
    parts = [append for request in requests for append in request.appends]
    answers: list[Answer] = []
    for position, conflict, found, opens_at in zip(*row, strict=True):
        if conflict is not None:
            part = parts[conflict - 1]
            answers.append(WrongExpectedVersion(part.stream, part.expected, found))
        elif opens_at is not None:
            answers.append(CeilingReached(opens_at))
        else:
            answers.append(position)
    return answers


async def _already_stored(
    connection: PooledConnection, requests: Mapping[int, PreparedAppend]
) -> dict[int, Answer]:
    """Return the last position of those of *requests* whose events are all in the log."""
    wanted = [event for request in requests.values() for event in request.stored]
    if not wanted:
        return {}
    with translate_errors():
        rows = await connection.fetch(
            _ALREADY_STORED,
            [event.stream for event in wanted],
            [event.version for event in wanted],
        )
    there = {NewEvent(*event): position for *event, position in rows}
    return {
        n: max(there[event] for event in request.stored)
        for n, request in requests.items()
        if there.keys() >= set(request.stored)
    }


def _of_the_schema(error: Exception) -> bool:
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate.startswith(_NO_SCHEMA)


def _refused(error: Exception) -> LogUnavailable:
    why = f"the log could not write: {error}"
    if _of_the_schema(error):
        why += "; is its schema there? (cs db migrate)"
    refused = LogUnavailable(why)
    refused.__cause__ = error
    return refused


def arguments(requests: Sequence[PreparedAppend]) -> tuple[object, ...]:
    """Return what ``append_events`` (migration 0001) takes for *requests*, each a column.

    Requests, parts and streams count from 1.
    """
    numbers: dict[str, int] = {}
    parts = [
        (number, numbers.setdefault(each.stream, len(numbers) + 1), each.expected, each.events)
        for number, request in enumerate(requests, 1)
        for each in request.appends
    ]
    ceilings = [request.ceiling for request in requests]
    events = [
        (number, *event)
        for number, request in enumerate(requests, 1)
        for event in request.stored
    ]
    return (
        list(numbers),
        [number for number, _, _, _ in parts],
        [stream for _, stream, _, _ in parts],
        [expected for _, _, expected, _ in parts],
        [len(appended) for _, _, _, appended in parts],
        [ceiling.at if ceiling else None for ceiling in ceilings],
        [ceiling.limit if ceiling else None for ceiling in ceilings],
        *([event[column] for event in events] for column in range(5)),
    )


APPEND = """
SELECT positions, conflicts, at_version, opens_at
FROM append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
_ALREADY_STORED = """
SELECT originator_id, originator_version, topic, state, notification_id
FROM unnest($1::text[], $2::bigint[]) AS wanted (originator_id, originator_version)
JOIN stored_events USING (originator_id, originator_version)
"""
_START = """
SELECT started_at FROM lookup_starts
WHERE number = (SELECT COALESCE(max(number), 0) FROM lookup_starts) + 1 - $1
"""
# Starts that a clock which was wrong has put into the future.
_COUNT_NO_MORE = """
UPDATE lookup_starts SET started_at = $1::timestamptz - $2::interval
WHERE started_at > $1::timestamptz + $3::interval
"""
# Never the newest: numbers go on from it.  What is old is measured from it, not by a clock.
# Not more than one statement can delete in its time limit; the next one removes more.
_PRUNE_STARTS = """
DELETE FROM lookup_starts WHERE number < LEAST((
    SELECT min(number) FROM lookup_starts WHERE started_at > (
        SELECT started_at FROM lookup_starts ORDER BY number DESC LIMIT 1
    ) - $1::interval
), (SELECT min(number) FROM lookup_starts) + 100000)
"""
