"""Checks that are counted and read together keep nobody waiting."""

import asyncio

import pytest

from cs.checks.port import CheckQuestion
from cs.checks.postgres import reads
from cs.checks.postgres.counting import PostgresChecks
from cs.checks.postgres.reads import PostgresCheckReads, ResultRows
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.read_batches import SIDE_BY_SIDE
from cs.postgres.pool import open_pool
from postgres.cutting_proxy import cutting_proxy


async def test_a_database_that_does_not_answer_is_waited_for_no_longer_than_said(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "PAUSE_S", 60.0)
    async with (
        cutting_proxy(database) as proxy,
        open_pool(proxy.dsn, role="test", statement_timeout_s=60) as pool,
    ):
        results = ResultRows("one", "results")
        asking = PostgresCheckReads(pool, PostgresChecks(pool), results, slow_s=0.05)
        await pool.execute("SELECT 1")  # from here on there is a connection
        proxy.passing.clear()
        questions = [CheckQuestion(f"key {n}", 0, "") for n in range(SIDE_BY_SIDE + 2)]
        facts = [asking.ask(question) for question in questions]
        async with asyncio.timeout(10):
            for each in facts:
                assert each is not None
                with pytest.raises(LogUnavailable, match="no answer"):
                    await each
        again = asking.ask(questions[0])
        proxy.passing.set()

    assert again is None  # for a while nobody tries
