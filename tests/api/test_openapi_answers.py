"""The searches that the service really answers with are those of its description."""

import pytest

from api.failing import failed_search
from api.openapi_document import DOCUMENT, faults
from harness.in_process import in_memory
from harness.outside import tools


async def test_a_done_search_is_as_described_live_cached_and_read_again() -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        async with service.client(key) as client:
            live = await client.post("/contacts", json={"brand": "Acme", "wait": True})
            cached = await client.post("/contacts", json={"brand": "acme"})
            read = await client.get(f"/searches/{live.json()['id']}")

    assert live.json()["status"] == cached.json()["status"] == read.json()["status"] == "done"
    (contact, *_) = live.json()["contacts"]
    described = DOCUMENT["components"]["schemas"]["Contact"]["properties"]
    assert [*contact, "extras"] == [*described], "contract S3: every field is sent"
    assert (live.json()["cached"], cached.json()["cached"]) == (False, True)
    assert faults("post", "/contacts", live) == []
    assert faults("post", "/contacts", cached) == []
    assert faults("get", "/searches/{id}", read) == []


@pytest.mark.parametrize("reason", DOCUMENT["components"]["schemas"]["Reason"]["enum"])
async def test_a_failed_search_is_as_described(reason: str) -> None:
    async with failed_search(reason) as service:
        body = {"brand": "Acme", "wait": True}
        answer = await service.call("POST", "/contacts", json=body)
        read = await service.call("GET", f"/searches/{answer.json()['id']}")

    assert (answer.json()["status"], answer.json()["reason"]) == ("failed", reason)
    assert faults("post", "/contacts", answer) == []
    assert faults("get", "/searches/{id}", read) == []
