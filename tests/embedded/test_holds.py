"""Two hundred held calls at once, over a hundred keys."""

import asyncio
import threading

import httpx
import pytest

from cs.api.routes import Api
from cs.cli.sandbox_service import sandbox_service
from cs.sandbox.world import load


@pytest.mark.slow
async def test_two_hundred_held_calls_over_a_hundred_keys_are_answered() -> None:
    limits = httpx.Limits(max_connections=300)
    async with (
        sandbox_service(load(None)) as sandbox,
        httpx.AsyncClient(base_url=sandbox.base_url, timeout=100, limits=limits) as client,
    ):
        keys = [(await sandbox.operator.create_key("held", 5)).key for _ in range(100)]

        async def search(key: str, brand: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {key}"}
            body = {"brand": brand, "wait": True}
            return await client.post("/contacts", json=body, headers=headers)

        async with asyncio.TaskGroup() as tasks:
            calls = [
                tasks.create_task(search(key, brand))
                for key in keys
                for brand in ("Miruvane", "Corvelune")
            ]
            held = tasks.create_task(most_held(sandbox.service.api, calls))
        answers = [call.result() for call in calls]

        assert {answer.status_code for answer in answers} == {200}
        records = [answer.json() for answer in answers]
        assert {(r["status"], r["charged"]) for r in records} == {("done", True)}
        assert len({r["id"] for r in records}) == 200
        emails = {r["brand"]: {c["email"] for c in r["contacts"]} - {None} for r in records}
        assert {brand: len(found) for brand, found in emails.items()} == {
            "Miruvane": 1,
            "Corvelune": 3,
        }
        usages = await asyncio.gather(
            *(client.get("/usage", headers={"Authorization": f"Bearer {k}"}) for k in keys)
        )
        assert {usage.json()["used"] for usage in usages} == {2}
        assert (await held)[0] >= 100
        assert (await held)[1] < 60


async def most_held(api: Api, calls: list[asyncio.Task[httpx.Response]]) -> tuple[int, int]:
    """Return the most calls held at once, and the most threads, until *calls* are answered."""
    held = threads = 0
    while not all(call.done() for call in calls):
        await asyncio.wait(calls, timeout=0.02, return_when=asyncio.FIRST_COMPLETED)
        held, threads = max(held, api.held), max(threads, threading.active_count())
    return held, threads
