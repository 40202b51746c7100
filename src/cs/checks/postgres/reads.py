"""Checks in PostgreSQL, counted by the statement that reads what they are answered with.

A check asks whether it counts, whether its key has changed, and for a row of a result.  Three
questions, one after the other, wait three times for the database.  Here it is one
statement for all who ask meanwhile, and so one moment for what is told to each of them.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple

import asyncpg

from cs.checks.port import CHECKS_PER_MINUTE, CheckFacts, CheckQuestion
from cs.checks.postgres.counting import COUNT, PostgresChecks, check_of
from cs.domain.rate_limits import MINUTE
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.read_batches import SIDE_BY_SIDE, ReadBatches
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, translate_errors

#: Who waits longer found a database with too much to do, or none.  A statement is cut off
#: after that, too; but where nothing answers, that may take as long as any statement may.
SLOW_S = 1.0
#: For how long nothing is asked here after that, or after an error.
PAUSE_S = 1.0


class ResultRows(NamedTuple):
    """Where the views keep results.

    Attributes:
        generation: Of the views, whose checkpoint is that of the rows.
        table: With the columns ``id`` and ``row``.
    """

    generation: str
    table: str


class PostgresCheckReads:
    """`cs.checks.port.CheckReads` on *pool*.

    Whoever finds a pause here, or a check of the same key under way, has *checks* and the
    stores themselves, which say what is wrong.

    Args:
        checks: Counts the same checks, one by one.
        results: In the same database as the checks and the log.
        monotonic: Seconds; moves with *ahead*.
        ahead: By how much a sandbox's clock is ahead of the database's.
        slow_s: How long who asks waits, at most.
    """

    def __init__(
        self,
        pool: Pool,
        checks: PostgresChecks,
        results: ResultRows,
        monotonic: Callable[[], float] = time.monotonic,
        ahead: Callable[[], timedelta] = timedelta,
        *,
        slow_s: float = SLOW_S,
    ) -> None:
        self._pool = pool
        self._checks = checks
        self._slow_s = slow_s
        self._generation = results.generation
        self._statement = _COUNT_AND_READ.format(count=COUNT, results=results.table)
        self._monotonic = monotonic
        self._ahead = ahead
        self._batches = ReadBatches[CheckQuestion, CheckFacts](
            self._read, SIDE_BY_SIDE, unheard=self._give_back
        )
        self._asking = set[str]()
        self._not_before = 0.0

    def ask(self, question: CheckQuestion) -> asyncio.Future[CheckFacts] | None:
        now, key_id = self._monotonic(), question.key_id
        if now < self._not_before or key_id in self._asking:  # no statement counts a key twice
            return None
        if self._checks.refusal(key_id, now) is not None:
            return None
        self._asking.add(key_id)
        facts = self._batches.submit(question)
        late = asyncio.get_running_loop().call_later(self._slow_s, self._give_up, facts)

        def end(_: object) -> None:
            late.cancel()
            self._asking.discard(key_id)

        facts.add_done_callback(end)
        return facts

    def _give_up(self, facts: asyncio.Future[CheckFacts]) -> None:
        if not facts.done():
            self._not_before = self._monotonic() + PAUSE_S
            facts.set_exception(LogUnavailable("checks cannot be counted: no answer"))

    def _give_back(self, question: CheckQuestion, facts: CheckFacts) -> None:
        self._checks.give_back(question.key_id, facts.check)

    async def _read(self, asked: Sequence[CheckQuestion]) -> Sequence[CheckFacts]:
        began = self._monotonic()
        columns = (list(column) for column in zip(*asked, strict=True))
        keys, versions, lookups = columns
        limits = (CHECKS_PER_MINUTE, MINUTE, self._ahead())
        try:
            with translate_errors():
                async with asyncio.timeout(self._slow_s), self._pool.acquire() as connection:
                    rows = await connection.fetch(
                        self._statement, keys, *limits, versions, lookups, self._generation
                    )
        except (DatabaseUnavailable, asyncpg.PostgresError) as error:
            pause = began + self._slow_s + PAUSE_S
            self._not_before = max(pause, self._not_before)
            raise LogUnavailable(f"checks cannot be counted: {error}") from error
        found = {row["key_id"]: self._facts(began, row) for row in rows}
        return [found[key_id] for key_id in keys]

    def _facts(self, asked: float, row: asyncpg.Record) -> CheckFacts:
        check = check_of(row)
        self._checks.note(row["key_id"], asked, check)
        return CheckFacts(check, row["unchanged"], row["position"] or 0, row["row"])


# All of it sees one moment; what counts is not visible to what reads, nor has to be.
_COUNT_AND_READ = """
WITH counted AS ({count})
SELECT counted.*, s.position, r.row, NOT EXISTS (
    SELECT FROM stored_events AS e
    WHERE e.originator_id = 'key-' || asked.key_id AND e.originator_version > asked.version
) AS unchanged
FROM unnest($1::text[], $5::bigint[], $6::text[]) AS asked (key_id, version, lookup)
JOIN counted USING (key_id)
LEFT JOIN view_sets AS s ON s.generation = $7
LEFT JOIN {results} AS r ON r.id = asked.lookup
"""
