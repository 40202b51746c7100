"""A key may be let make fewer searches than others: `cs keys create` and `cs keys limit`."""

from datetime import timedelta

import pytest

from cs.domain.refusal import Refusal
from domain.acme_run import AT
from harness.in_process import in_memory
from harness.manual_clock import ManualClock
from harness.outside import tools

POLICY = '"minute";q=2;w=60, "day";q=3;w=86400'


async def test_a_key_is_held_to_limits_of_its_own_until_they_are_changed() -> None:
    clock = ManualClock(AT)
    async with in_memory(tools(), clock=clock) as service:
        key = await service.operator.create_key("few", 100, per_minute=2, per_day=3)
        first = [await service.search(key, brand="Acme") for _ in range(3)]
        clock.set(AT + timedelta(seconds=60))
        later = [await service.search(key, brand="Acme") for _ in range(2)]
        await service.operator.limit_key(key.id, per_minute=1, per_day=60)
        lowered = await service.search(key, brand="Acme")
        clock.set(AT + timedelta(seconds=120))
        after = await service.search(key, brand="Acme")
        await service.operator.limit_key(key.id, per_minute=6, per_day=60)
        raised = await service.search(key, brand="Acme")
        for wrong in ({"per_minute": 7, "per_day": 60}, {"per_minute": 6, "per_day": 0}):
            with pytest.raises(Refusal, match="1 to 6 searches a minute and 1 to 60 a day"):
                await service.operator.limit_key(key.id, **wrong)

    assert [each.status_code for each in first] == [200, 200, 429]
    assert first[2].headers["RateLimit-Limit"] == "2"
    assert first[2].headers["RateLimit-Policy"] == POLICY
    assert "2 searches per minute" in first[2].json()["error"]["message"]
    assert [each.status_code for each in later] == [200, 429]
    assert later[1].headers["RateLimit-Limit"] == "3"
    assert later[1].headers["Retry-After"] == str(24 * 3600 - 60)
    assert "3 searches per 24 hours" in later[1].json()["error"]["message"]
    assert (lowered.status_code, lowered.headers["Retry-After"]) == (429, "60")
    assert (after.status_code, raised.status_code) == (200, 200)


async def test_after_a_limit_is_lowered_retry_after_is_when_there_is_room() -> None:
    clock = ManualClock(AT)
    async with in_memory(tools(), clock=clock) as service:
        key = await service.operator.create_key("many", 100)
        for seconds in (0, 10, 20):
            clock.set(AT + timedelta(seconds=seconds))
            assert (await service.search(key, brand="Acme")).status_code == 200
        await service.operator.limit_key(key.id, per_minute=2, per_day=60)
        refused = await service.search(key, brand="Acme")
        clock.set(AT + timedelta(seconds=70))
        admitted = await service.search(key, brand="Acme")

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "50")
    assert admitted.status_code == 200
