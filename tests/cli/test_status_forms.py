"""`cs status` of a service on databases."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cli.command import ran
from cs.assembly.roles import run_project
from harness.places import open_database
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


@pytest.mark.slow
async def test_every_process_and_lease_is_shown_and_what_is_missing_is_named(
    on_databases: Form,
) -> None:
    settings = on_databases.settings
    assert settings.postgres is not None
    async with run_project(settings, "live") as role, open_database(settings.postgres) as pool:
        async with asyncio.timeout(30):
            while not (await role.ready.check())[1]["leads"]:
                await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
            while not await pool.fetchval("SELECT count(*) FROM processes"):
                await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
        report = {"ready": False, "bus": {"reachable": False, "why": "no broker answers"}}
        await pool.execute(PROCESS, "host-b:7", "relay", -600, False, json.dumps(report))
        await pool.execute(PROCESS, "host-c:7", "process-manager", 60, True, '{"ready": true}')
        await pool.execute("INSERT INTO leases VALUES ('driver', 'host-c:7', 4, 'infinity')")
        (told,) = (await status(on_databases, "--json")).rows
        shown = " ".join((await status(on_databases)).out.split())
    (left,) = (await status(on_databases, "--json")).rows

    cluster = told["cluster"]
    assert told["health"] is None
    ready = {each["role"]: each["ready"] for each in cluster["processes"]}
    assert ready == {"project": True, "relay": False, "process-manager": True}
    assert [*cluster["missing"]][:2] == ["api", "process-manager"]
    taken = {name: lease["taken"] for name, lease in cluster["leases"].items()}
    assert taken == {"relay": False, "driver": True, "views": True}
    assert (
        "1 processes are ready; not ready: process-manager on host-c:7, relay on host-b:7"
        in shown
    )
    assert "no process of: api, process-manager" in shown
    assert "no broker answers" in shown
    assert "silent for" in shown
    assert "project" in left["cluster"]["missing"], "one that leaves takes its report with it"


#: A report of another process, some seconds ago.
PROCESS = """
INSERT INTO processes (process, role, version, started_at, seen_at, ready, health)
VALUES ($1, $2, '1', now(), now() - $3 * interval '1 second', $4, $5)
"""


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
