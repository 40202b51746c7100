"""The whole service with every provider played: what they add, and what the waterfall saves."""

import pytest

from sandbox.provider_runs import Way, run_way
from sandbox.provider_world import measured_world

PAID_VERIFIERS = ("hunter_verifier", "zerobounce", "neverbounce", "millionverifier", "kickbox")


# Three whole services: some five seconds of CPU, which nothing smaller shows.
@pytest.mark.slow
async def test_providers_add_people_and_the_waterfall_asks_only_what_is_open() -> None:
    measured = measured_world(8)

    ways: tuple[Way, ...] = ("free", "waterfall", "everybody")
    free, waterfall, everybody = [await run_way(measured, way) for way in ways]

    for each in (free, waterfall, everybody):
        assert each.false_deliverable == [], each.way
        assert round(sum(each.counted.values()), 4) == each.usd, each.way
    assert free.usd == 0
    assert free.people.recall < waterfall.people.recall <= everybody.people.recall
    assert free.mails.recall < waterfall.mails.recall
    assert 0 < waterfall.usd < everybody.usd
    assert waterfall.usd_per_verified < everybody.usd_per_verified
    # What our own verifier settles nobody is paid for.
    assert waterfall.calls(*PAID_VERIFIERS) < everybody.calls(*PAID_VERIFIERS) / 10
