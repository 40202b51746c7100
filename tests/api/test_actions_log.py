"""What an operator does leaves a line in the service's log, with whom and with nobody else."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from cs.domain.contact import Query
from cs.operations.erasure import Erasure
from cs.operations.operator import Operator
from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.outside import tools


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with capture_logs() as lines:
        yield lines


@pytest.mark.slow
async def test_each_act_is_a_line(lines: list[Any]) -> None:
    keys = MemoryKeyStore()
    async with in_memory(tools(), keys=keys) as service:
        running = service.running
        operator = Operator(running.streams, running.api.clock, "ada")
        new = await operator.create_key("Jane Doe of Acme", 10)
        done = (await service.search(new, brand="Acme")).json()
        person = next(each for each in done["contacts"] if each["email"])
        await operator.rotate_key(new.id)
        await operator.grant_quota(new.id, -3)
        await operator.pause()
        assert not await operator.pause()
        await operator.resume()
        await operator.forget_brand(Query("Acme"))

        async def reflected() -> None:
            await running.views.reached(await running.streams.log.head())

        erasure = Erasure(running.streams, keys, running.api.clock, reflected, by="ada")
        await erasure.erase_mailbox(person["email"])
        await operator.revoke_key(new.id)
        await reflected()

    acts = [line for line in lines if line.get("by") == "ada"]
    assert [line.pop("event") for line in acts] == [
        "key_issued",
        "key_rotated",
        "quota_granted",
        "api_paused",
        "api_resumed",
        "brand_forgotten",
        "person_suppressed",
        "person_erased",
        "key_revoked",
    ]
    by = {"by": "ada", "log_level": "info"}
    assert acts[0] == acts[1] == acts[8] == {"key": new.id} | by
    assert acts[2] == {"key": new.id, "units": -3} | by
    assert acts[3] == acts[4] == acts[6] == acts[7] == by
    assert acts[5].keys() == {"brand"} | by.keys()
    assert "jane" not in str(acts).lower()
