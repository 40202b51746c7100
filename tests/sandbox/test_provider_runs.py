"""The whole service with every provider played: what they add, and what they charge."""

import asyncio
from typing import Any

import httpx
import pytest

from cs.cli.sandbox import sandbox_service
from cs.domain.source_cost import MICROS
from cs.sandbox.providers.verifiers import MailboxTruth
from cs.sandbox.world import listing, load
from harness.places import budgets_in
from harness.world_proof import asking_the_silent, move_clock, prove_search

PAID_VERIFIERS = ("hunter_verifier", "zerobounce", "neverbounce", "millionverifier", "kickbox")


# Two whole services: some five seconds of CPU, which nothing smaller shows.
@pytest.mark.slow
async def test_providers_verify_more_people_none_wrongly_and_charge_what_is_counted() -> None:
    world = load(None)
    truth, silent = MailboxTruth(world), asking_the_silent(world)
    outcomes = {"done", "no_emails"}
    rows = [r for r in listing(world) if r.outcome in outcomes and r.domain not in silent]
    verified: list[set[str]] = []
    bill: dict[str, Any] = {"usd": 0.0}
    for providers in (False, True):
        budgets = budgets_in(None)
        async with (
            sandbox_service(world, providers=providers, budgets=budgets) as sandbox,
            httpx.AsyncClient(trust_env=False) as client,
            asyncio.TaskGroup() as tasks,
        ):
            searches = [
                tasks.create_task(prove_search(sandbox, row, row.asked_by[-1])) for row in rows
            ]
            moving = tasks.create_task(move_clock(sandbox, searches))
            await asyncio.wait(searches)
            moving.cancel()
            verified.append({mail for each in searches for mail in each.result().verified})
            if sandbox.providers_url is not None:
                bill = (await client.get(f"{sandbox.providers_url}/bill")).json()
        counted = sum(each.micros_this_month for each in await budgets.spending()) / MICROS
        assert round(counted, 4) == bill["usd"]

    free, paid = verified
    assert {mail for mail in free | paid if truth.known(mail, "", 0) != "exists"} == set()
    assert len(free) < len(paid)
    # What our own verifier settles nobody is paid for.
    checks = sum(bill["lines"].get(name, {"calls": 0})["calls"] for name in PAID_VERIFIERS)
    assert 0 < checks < len(paid)
