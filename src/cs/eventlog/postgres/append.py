"""Batches of contingent appends in PostgreSQL: one statement each, answered one by one.

The statement calls ``append_events`` (migration 0001), which takes a lock, checks, inserts
and commits by itself: a process that stops in the middle never holds the lock.

A statement whose answer is lost is sent again.  That stores nothing twice: every request
names the versions it follows, so what was stored the first time conflicts with itself, and
is known by its events stored there, byte for byte.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeAlias

import asyncpg
import msgspec
from structlog import get_logger

from cs.eventlog.errors import (
    AppendInDoubt,
    CeilingReached,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.eventlog.mapper import NewEvent
from cs.eventlog.table_log import PreparedAppend
from cs.postgres.dedicated_connection import DedicatedConnection
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, PooledConnection, translate_errors
from cs.runtime import failpoints

log = get_logger()

#: How long a batch whose answer was lost is sent again.
IN_DOUBT_S = 5.0
#: Wait between two tries.
_PAUSE_S = 0.05
#: How often a batch is sent again because somebody else wrote to the tables.
_UNIQUE_TRIES = 3
#: SQLSTATE class 42: the schema is not there or not ours.
_NO_SCHEMA = "42"

Answer: TypeAlias = int | Exception


class PostgresAppender:
    """One batch at a time, on a connection of its own."""

    def __init__(self, pool: Pool) -> None:
        self._connection = DedicatedConnection(pool)

    @property
    def backend(self) -> int | None:
        """Return the process id of the backend that appends, if there is one."""
        return self._connection.backend

    async def close(self) -> None:
        await self._connection.drop()

    async def write(self, requests: Sequence[PreparedAppend]) -> Sequence[Answer]:
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
            why = error  # somebody does not take our lock: look at the versions again
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


class Batch(msgspec.Struct, frozen=True):
    """The arguments of ``append_events`` (migration 0001), each a column, in their order.

    Requests, parts and streams count from 1.
    """

    streams: list[str] = msgspec.field(default_factory=list)  # each once
    part_request: list[int] = msgspec.field(default_factory=list)
    part_stream: list[int] = msgspec.field(default_factory=list)
    part_expected: list[int] = msgspec.field(default_factory=list)
    part_events: list[int] = msgspec.field(default_factory=list)
    starts_at: list[datetime | None] = msgspec.field(default_factory=list)
    starts_limit: list[int | None] = msgspec.field(default_factory=list)
    event_request: list[int] = msgspec.field(default_factory=list)
    event_stream: list[str] = msgspec.field(default_factory=list)
    event_version: list[int] = msgspec.field(default_factory=list)
    event_topic: list[str] = msgspec.field(default_factory=list)
    event_state: list[bytes] = msgspec.field(default_factory=list)

    def add(self, request: PreparedAppend, numbers: dict[str, int]) -> None:
        """Add *request*; *numbers* are those of the streams so far."""
        self.starts_at.append(None if request.ceiling is None else request.ceiling.at)
        self.starts_limit.append(None if request.ceiling is None else request.ceiling.limit)
        number = len(self.starts_at)
        for append in request.appends:
            if append.stream not in numbers:
                self.streams.append(append.stream)
                numbers[append.stream] = len(self.streams)
            self.part_request.append(number)
            self.part_stream.append(numbers[append.stream])
            self.part_expected.append(append.expected)
            self.part_events.append(len(append.events))
        for event in request.stored:
            self.event_request.append(number)
            self.event_stream.append(event.stream)
            self.event_version.append(event.version)
            self.event_topic.append(event.topic)
            self.event_state.append(event.state)


def arguments(requests: Sequence[PreparedAppend]) -> tuple[object, ...]:
    """Return what ``append_events`` takes for *requests*."""
    batch = Batch()
    numbers: dict[str, int] = {}
    for request in requests:
        batch.add(request, numbers)
    return msgspec.structs.astuple(batch)


APPEND = """
SELECT positions, conflicts, at_version, opens_at
FROM append_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
_ALREADY_STORED = """
SELECT originator_id, originator_version, topic, state, notification_id
FROM unnest($1::text[], $2::bigint[]) AS wanted (originator_id, originator_version)
JOIN stored_events USING (originator_id, originator_version)
"""
