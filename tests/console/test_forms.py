"""Forms that are sent twice, and live pages: each act is done once, a secret shown once."""

import asyncio
import re
from collections.abc import AsyncIterator

import httpx
import pytest

from harness.in_process import Service, in_memory
from harness.outside import tools


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with in_memory(tools(), console=True) as running:
        yield running


async def test_a_form_that_is_sent_twice_at_the_same_time_acts_once(service: Service) -> None:
    key = await service.operator.create_key("forms", 3)
    async with service.console() as client:
        page = (await client.get(f"/keys/{key.id}")).text
        form = {"csrf": re.findall(r'name="csrf" value="(\w+)"', page)[0], "once": "one"}

        async def send(act: str, **fields: str) -> list[httpx.Response]:
            where, sent = f"/keys/{key.id}/{act}", form | fields
            async with service.running.streams.lock(f"key-{key.id}"):
                both = [asyncio.create_task(client.post(where, data=sent)) for _ in "12"]
                for _ in range(100):  # so that each has come as far as it can
                    await asyncio.sleep(0)
            return await asyncio.gather(*both)

        granted = await send("grant", units="4")
        rotated = await send("rotate")

    assert ["The quota is 7 now" in each.text for each in granted] == [True, True]
    secrets = [re.findall(r"cs_(?:live|test)_\w+", each.text) for each in rotated]
    assert sorted(map(len, secrets)) == [0, 1], "a secret is shown once, and is not kept"
    assert sum("was shown once" in each.text for each in rotated) == 1
