"""The whole service with every provider played: what they add, and what they charge."""

import asyncio

import httpx
import pytest

from cs.assembly.sandbox_world import providers_url
from cs.cli.sandbox import sandbox_service
from cs.domain.source_cost import MICROS
from cs.sandbox.providers.verifiers import MailboxTruth
from cs.sandbox.world import listing, load
from harness.places import budgets_in
from harness.world_proof import asking_the_silent, move_clock, prove_search

PAID_VERIFIERS = ("hunter_verifier", "zerobounce", "neverbounce", "millionverifier", "kickbox")


# A whole service: some three seconds of CPU, which nothing smaller shows.
@pytest.mark.slow
async def test_providers_verify_more_people_none_wrongly_and_charge_what_is_counted() -> None:
    world, budgets = load(None), budgets_in(None)
    truth, silent = MailboxTruth(world), asking_the_silent(world)
    outcomes = {"done", "no_emails"}
    rows = [r for r in listing(world) if r.outcome in outcomes and r.domain not in silent]
    async with (
        sandbox_service(world, providers=True, budgets=budgets) as sandbox,
        httpx.AsyncClient(trust_env=False) as client,
        asyncio.TaskGroup() as tasks,
    ):
        searches = [
            tasks.create_task(prove_search(sandbox, row, row.asked_by[-1])) for row in rows
        ]
        moving = tasks.create_task(move_clock(sandbox, searches))
        await asyncio.wait(searches)
        moving.cancel()
        bill = (await client.get(f"{providers_url(sandbox.settings)}/bill")).json()
    counted = sum(each.micros_this_month for each in await budgets.spending()) / MICROS
    verified = {mail for each in searches for mail in each.result().verified}
    without = {mail for row in rows for mail in row.verified}  # as the world intends it

    assert round(counted, 4) == bill["usd"]
    assert {mail for mail in verified if truth.known(mail, "", 0) != "exists"} == set()
    assert len(without) < len(verified)
    # What our own verifier settles nobody is paid for.
    checks = sum(bill["lines"].get(name, {"calls": 0})["calls"] for name in PAID_VERIFIERS)
    assert 0 < checks < len(verified)
