"""`cs status` of a service on databases."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cli.command import ran
from system.older_keys.forms import Form, on_new_databases
from system.older_keys.test_older_keys import BEFORE, RUNS, gate, outside

NOBODY = "Nobody Knows Them"


@pytest.fixture
async def on_databases(tmp_path: Path, postgres: str) -> AsyncIterator[Form]:
    async with on_new_databases(postgres, tmp_path) as form:
        yield form


async def status(form: Form, *words: str) -> Any:
    where = form.environment | {"CS_ADMIN_PORT": "1", "COLUMNS": "200"}
    done = await asyncio.to_thread(ran, "status", *words, **where)
    assert (done.code, done.err) == (0, ""), done
    return done


@pytest.mark.slow
async def test_what_runs_what_waits_and_what_failed(on_databases: Form) -> None:
    form, held = on_databases, gate()
    async with form.service(outside(held)) as service:
        key = await service.new_key()
        found = (await service.search(key, brand=BEFORE)).json()
        failed = (await service.search(key, brand=NOBODY)).json()
        running = (await service.search(key, brand=RUNS, wait=False)).json()
        async with asyncio.timeout(30):
            await held.asked.wait()
        await service.operator.pause()
        head = await service.running.streams.log.head()
        (told,) = (await status(form, "--json")).rows
        shown = (await status(form)).out
        after = await service.running.streams.log.head()
        held.let.set()
        async with asyncio.timeout(30):
            await service.running.reading.until_settled(running["id"])
        (ended,) = (await status(form, "--json")).rows

    assert (found["status"], failed["reason"]) == ("done", "no_linkedin")
    assert (told["paused"], told["health"]) == (True, None)
    assert told["spending"] == {"why": "not known: stages_postgres is not set"}
    assert told["world"] == "live"
    assert (told["lookups"], told["searches"], told["work"]) == (1, 1, {"verification": 1})
    assert 0 <= told["oldest_work_s"] < 60
    assert (told["events"], told["recent"], told["views_behind"]) == (head, head, 0)
    assert after == head, "it changes nothing"
    assert told["sources"]["listed"]["ended"] == {"used": 2, "no_results": 1}
    assert told["verifiers"]["listed"]["ended"]["answered"] >= 2
    assert [each["outcome"] for each in told["failures"]] == ["no_linkedin"]
    assert "paused: new ones are refused" in shown
    assert "1 lookups, 1 searches wait for them" in shown
    assert "0 events behind" in shown
    assert (ended["lookups"], ended["searches"], ended["work"]) == (0, 0, {})
    assert len(ended["failures"]) == 1


async def test_on_databases_that_no_service_used_it_says_so_and_stores_nothing(
    on_databases: Form,
) -> None:
    shown = (await status(on_databases)).out

    assert "none yet: no service has run on this data" in shown
    assert "0 events behind" in shown
    assert on_databases.settings.postgres is not None
    connection = await asyncpg.connect(on_databases.settings.postgres)
    assert await connection.fetchval("SELECT count(*) FROM stored_events") == 0
    await connection.close()
