"""The searches that the service really answers with are those of its description."""

import pytest

from api.failing import AWAY, CUT_OFF, NEVER
from api.openapi_document import DOCUMENT, faults
from cs.assembly.plugins import StagePlugins
from harness.in_process import in_memory
from harness.outside import CID, tools


async def test_a_done_search_is_as_described_live_cached_and_read_again() -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        async with service.client(key) as client:
            live = await client.post("/contacts", json={"brand": "Acme", "wait": True})
            cached = await client.post("/contacts", json={"brand": "acme"})
            read = await client.get(f"/searches/{live.json()['id']}")

    assert live.json()["status"] == cached.json()["status"] == read.json()["status"] == "done"
    assert (live.json()["cached"], cached.json()["cached"]) == (False, True)
    assert faults("post", "/contacts", live) == []
    assert faults("post", "/contacts", cached) == []
    assert faults("get", "/searches/{id}", read) == []


@pytest.mark.parametrize(
    ("reason", "outside", "brand", "deadline_s"),
    [
        ("no_linkedin", tools(), "Nobody Knows", 120),
        ("no_contacts", tools(people=(CID,)), "Acme", 120),
        ("no_emails", tools(existing=frozenset()), "Acme", 120),
        ("scrape_error", AWAY, "Acme", 1),
        ("timeout", NEVER, "Acme", 0.05),
        ("error", CUT_OFF, "Acme", 120),
    ],
)
async def test_a_failed_search_is_as_described(
    reason: str, outside: StagePlugins, brand: str, deadline_s: float
) -> None:
    async with in_memory(outside, deadline_s=deadline_s) as service:
        key = await service.new_key()
        async with service.client(key) as client:
            answer = await client.post("/contacts", json={"brand": brand, "wait": True})
            read = await client.get(f"/searches/{answer.json()['id']}")

    assert (answer.json()["status"], answer.json()["reason"]) == ("failed", reason)
    assert faults("post", "/contacts", answer) == []
    assert faults("get", "/searches/{id}", read) == []


async def test_every_reason_is_one_that_was_tried_above() -> None:
    (marks,) = test_a_failed_search_is_as_described.pytestmark  # type: ignore[attr-defined]
    tried = [row[0] for row in marks.args[1]]

    assert tried == DOCUMENT["components"]["schemas"]["Reason"]["enum"]
