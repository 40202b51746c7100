"""``/metrics`` of a whole service, in memory: what it did is what is shown."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cs.admin.app import build
from cs.domain.stages.table import OWN_STAGES
from harness.in_process import Service, in_memory
from harness.outside import tools


class Shown:
    """The samples of a page, by name and some labels."""

    def __init__(self, page: str) -> None:
        self.samples = [s for f in text_string_to_metric_families(page) for s in f.samples]

    def __call__(self, name: str, **labels: str) -> float:
        """Return the sum of the samples *name* that have *labels*."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


@asynccontextmanager
async def admin(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    app = build(service.running.ready)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_refused_calls_are_counted_by_key_and_code() -> None:
    async with in_memory(tools()) as service, admin(service) as port:
        spent, other = await service.new_key(quota=0), await service.new_key()
        for _ in range(2):
            await service.search(spent, brand="Acme")
        await service.operator.pause()
        await service.search(other, brand="Acme")
        shown = Shown((await port.get("/metrics")).text)

    refused = "cs_calls_refused_total"
    assert shown(refused) == 3
    assert shown(refused, key=spent.id, code="quota_exhausted") == 2
    assert shown(refused, key=other.id, code="api_disabled") == 1


@pytest.mark.slow
async def test_a_search_shows_in_calls_stages_verdicts_and_charges() -> None:
    async with in_memory(tools()) as service, admin(service) as port:
        key = await service.new_key()
        found = (await service.search(key, brand="Acme")).json()
        async with service.client(key) as client:
            await client.get("/usage")
            await client.get(f"/searches/{found['id']}")
            await client.get("/nowhere")
            await client.get("/usage", headers={"Authorization": "Bearer nobody"})
        answer = await port.get("/metrics")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    shown = Shown(answer.text)
    calls = "cs_call_seconds_count"
    assert shown(calls, method="POST", route="/v1/contacts", status="200", held="yes") == 1
    assert shown(calls, route="/v1/usage", status="200", held="no") == 1
    assert shown(calls, route="/v1/searches/{id}", status="200") == 1
    assert shown(calls, route="other", status="404") == 1
    assert shown("cs_call_errors_total", code="unauthorized") == 1
    assert shown("cs_call_errors_total", code="not_found") == 1
    for stage in OWN_STAGES:
        assert shown("cs_stage_seconds_count", stage=stage, ended="result") == 1
        assert shown("cs_lookup_stage_seconds_count", stage=stage) == 1
    assert shown("cs_lookup_seconds_count", outcome="done") == 1
    assert shown("cs_searches_admitted_total") == 1
    assert shown("cs_searches_settled_total", outcome="done", cached="no") == 1
    assert shown("cs_charges_total") == 1
    assert shown("cs_verdicts_total", verdict="deliverable") >= 1
    assert shown("cs_messages_published_total", result="taken") >= 2 * len(OWN_STAGES)
    assert shown("cs_cache_hits_total", cache="key-states") > 0
    assert shown("cs_ready") == 1
    assert shown("cs_log_position") > 0
    for follower in ("views", "relay", "driver"):
        assert shown("cs_follower_position", follower=follower) > 0
        assert 0 <= shown("cs_follower_lag_events", follower=follower) < 10
        assert 0 <= shown("cs_follower_lag_seconds", follower=follower) < 60


async def test_nobody_is_named_on_the_page() -> None:
    async with in_memory(tools()) as service, admin(service) as port:
        key = await service.new_key()
        found = (await service.search(key, brand="Acme")).json()
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        page = (await port.get("/metrics", headers=accept)).text.lower()

    contact = found["contacts"][0]
    told = (key.key, key.id, found["id"], "acme", contact["email"], contact["last_name"])
    assert [each for each in told if each.lower() in page] == []
    assert "request" in page, "exemplars name calls"
