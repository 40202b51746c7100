"""Paid calls in the stages' own PostgreSQL database; leases go by its clock.

All stage workers share one key, which is in no database.  The master key of personal data
is not among what they have.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from secrets import token_hex

from cs.paid_calls.errors import CallsUnavailable, WrongCallsKey
from cs.paid_calls.port import (
    PAGE,
    RETENTION,
    BeginResult,
    CallInFlight,
    CallLease,
    KnownAnswer,
    LostAnswer,
    PaidCall,
    RememberedCall,
)
from cs.paid_calls.sealing import CallSeal
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.lock_retry import WRITE_ANEW_S, retry_while_locked
from cs.postgres.pool import Pool, PooledConnection, connected
from cs.runtime.ids import random_id


class PostgresCalls:
    """Args: *pool*: to the stages' database.  *key*: 32 bytes, the same for all workers."""

    def __init__(self, pool: Pool, key: bytes) -> None:
        self._pool = pool
        self._seal = CallSeal(key)

    async def check_key(self) -> None:
        """Pass if what is remembered was sealed with this key.

        Where nothing is remembered a new key takes over from the old one.  Every call asks
        again, since another worker may have taken over from this one.

        Raises:
            WrongCallsKey: It was sealed with another one.
            CallsUnavailable: The database is away.
        """
        async with self._connected() as connection:
            await self._take_over(connection)

    async def _take_over(self, connection: PooledConnection) -> None:
        async with connection.transaction():
            await connection.execute(_HOLD_KEY)  # so that the next sees what was begun by then
            await connection.execute(_TAKE_OVER, self._seal.proof)
            proof = await connection.fetchval(_PROOF)
        if proof != self._seal.proof:
            raise WrongCallsKey(
                "paid calls of the last hour were sealed with another key; give this worker "
                "the one that the others have"
            )

    async def begin(self, call: PaidCall, *, lease_s: float, again: bool) -> BeginResult:
        holder = random_id("h-")
        named = (call.lookup, call.provider, self._seal.request(call))
        lease = (lease_s, holder, again, self._seal.proof)
        async with self._connected() as connection:
            while True:
                if await connection.fetchval(_BEGIN, *named, *lease):
                    return CallLease(call, holder, self._seal.idempotency_key(call))
                if await connection.fetchval(_PROOF) != self._seal.proof:
                    await self._take_over(connection)
                    continue
                row = await connection.fetchrow(_FIND, *named)
                if row is None:
                    continue  # deleted since
                if row["answer"] is not None:
                    return KnownAnswer(self._seal.unseal(call, row["answer"]))
                # A lease is no longer, unless the clock was ahead when it was given.
                in_flight = 0 < row["left_s"] <= lease_s
                return CallInFlight(row["left_s"]) if in_flight else LostAnswer()

    async def answer(self, begun: CallLease, answer: bytes) -> None:
        await self._change(_ANSWER, begun.call, self._seal.seal(begun.call, answer))

    async def leave(self, begun: CallLease) -> None:
        await self._change(_LEAVE, begun.call, begun.holder)

    async def undo(self, begun: CallLease) -> None:
        await self._change(_UNDO, begun.call, begun.holder)

    async def forget_old(self) -> int:
        async with self._connected() as connection:
            await connection.execute(_BEGUN_BY_NOW)
            gone = await connection.fetch(_FORGET, RETENTION, PAGE)
        return len(gone)

    async def remembered(self, lookups: Iterable[str]) -> Sequence[RememberedCall]:
        return await remembered_calls(self._pool, lookups)

    async def erase(self, lookups: Iterable[str]) -> int:
        return await erase_calls(self._pool, lookups)

    async def _change(self, statement: str, call: PaidCall, value: str | bytes) -> None:
        request = self._seal.request(call)
        async with self._connected() as connection:
            await connection.execute(statement, call.lookup, call.provider, request, value)

    def _connected(self) -> AbstractAsyncContextManager[PooledConnection]:
        return _connected(self._pool)


async def remembered_calls(pool: Pool, lookups: Iterable[str]) -> Sequence[RememberedCall]:
    """Return what is remembered of calls for *lookups*, which needs no key, the oldest first.

    Raises:
        CallsUnavailable: The database is away.
    """
    async with _connected(pool) as connection:
        rows = await connection.fetch(_REMEMBERED, list(lookups), RETENTION)
    return [RememberedCall(*row) for row in rows]


async def erase_calls(pool: Pool, lookups: Iterable[str]) -> int:
    """Forget the calls of *lookups*, which needs no key; return how many there were.

    A new table is put in the place of the old one, since a page keeps the bytes of what was
    in it (docs/decisions/0018).  Writers wait while what is left is copied, which is of an
    hour; nobody queues behind a transaction that has the table in use.  The server's own
    write-ahead log holds the bytes, sealed, until it is recycled.

    Raises:
        CallsUnavailable: The database is away, or a transaction on the table does not end;
            nothing is forgotten.
    """
    wanted = list(lookups)
    async with _connected(pool) as connection:
        if not await connection.fetchval(_ANY, wanted):
            return 0
    erased = 0

    async def replace(connection: PooledConnection) -> None:
        nonlocal erased
        await connection.execute("LOCK TABLE calls IN SHARE ROW EXCLUSIVE MODE")
        erased = len(await connection.fetch(_ERASE, wanted))
        # Readers wait from the exchange to the commit.
        new = f"calls_{token_hex(4)}"
        await connection.execute(f"CREATE TABLE {new} (LIKE calls INCLUDING ALL)")
        await connection.execute(f"INSERT INTO {new} SELECT * FROM calls")  # noqa: S608
        await connection.execute("DROP TABLE calls")
        await connection.execute(f"ALTER TABLE {new} RENAME TO calls")

    try:
        async with asyncio.timeout(WRITE_ANEW_S):
            await retry_while_locked(pool, replace)
    except (DatabaseUnavailable, TimeoutError) as error:
        why = str(error) or "a transaction on the table does not end (pg_stat_activity)"
        raise CallsUnavailable(f"the register of paid calls: {why}; erase again") from error
    return erased


@asynccontextmanager
async def _connected(pool: Pool) -> AsyncIterator[PooledConnection]:
    try:
        async with connected(pool) as connection:
            yield connection
    except DatabaseUnavailable as error:
        raise CallsUnavailable(f"the register of paid calls: {error}") from error


#: A key may change while there is nothing that it would have to open.
_TAKE_OVER = """
INSERT INTO calls_key (proof) VALUES ($1)
ON CONFLICT (one) DO UPDATE SET proof = excluded.proof
WHERE NOT EXISTS (SELECT FROM calls)
"""
_HOLD_KEY = "SELECT FROM calls_key FOR UPDATE"
_PROOF = "SELECT proof FROM calls_key"
# The key is held on to until the call stands there: nobody takes over in between.
_BEGIN = """
WITH mine AS MATERIALIZED (SELECT FROM calls_key WHERE proof = $7 FOR SHARE)
INSERT INTO calls (lookup, provider, request, begun_at, lease_until, holder)
SELECT $1, $2, $3, clock_timestamp(),
       clock_timestamp() + $4::float8 * interval '1 second', $5
FROM mine
ON CONFLICT (lookup, provider, request) DO UPDATE
SET lease_until = excluded.lease_until, holder = excluded.holder
WHERE $6::boolean AND calls.answer IS NULL AND (
    calls.lease_until <= clock_timestamp() OR calls.lease_until > excluded.lease_until
)
RETURNING true
"""
_FIND = """
SELECT answer, extract(epoch FROM lease_until - clock_timestamp())::float8 AS left_s
FROM calls WHERE lookup = $1 AND provider = $2 AND request = $3
"""
_ANSWER = """
UPDATE calls SET answer = $4
WHERE lookup = $1 AND provider = $2 AND request = $3 AND answer IS NULL
"""
_LEAVE = """
UPDATE calls SET lease_until = clock_timestamp()
WHERE lookup = $1 AND provider = $2 AND request = $3 AND holder = $4 AND answer IS NULL
"""
_UNDO = """
DELETE FROM calls
WHERE lookup = $1 AND provider = $2 AND request = $3 AND holder = $4 AND answer IS NULL
"""
# Calls that a clock which was ahead has begun in the future count as begun now.
_BEGUN_BY_NOW = """
UPDATE calls SET begun_at = clock_timestamp() WHERE begun_at > clock_timestamp()
"""
_FORGET = """
DELETE FROM calls WHERE (lookup, provider, request) IN (
    SELECT lookup, provider, request FROM calls
    WHERE begun_at < clock_timestamp() - $1::interval
    ORDER BY begun_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
RETURNING 1
"""
_REMEMBERED = """
SELECT lookup, provider, answer IS NOT NULL,
       extract(epoch FROM begun_at + $2::interval - clock_timestamp())::float8
FROM calls WHERE lookup = ANY($1) ORDER BY begun_at
"""
_ANY = "SELECT EXISTS (SELECT FROM calls WHERE lookup = ANY($1))"
_ERASE = "DELETE FROM calls WHERE lookup = ANY($1) RETURNING 1"
