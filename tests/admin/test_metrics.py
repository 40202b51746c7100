"""``/metrics`` of a whole service, in memory: what it did is what is shown."""

import time
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cs.domain.stages.table import OWN_STAGES
from harness.served import Served, served

pytestmark = pytest.mark.slow
ACCEPT = {"Accept": "application/openmetrics-text; version=1.0.0"}


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


def metrics(service: Served, **headers: str) -> httpx.Response:
    return httpx.get(f"{service.admin_url}/metrics", headers=headers, trust_env=False)


def test_what_a_service_did_is_what_is_shown_and_no_name(tmp_path: Path) -> None:
    with served(tmp_path / "data") as service:
        key, spent, other = (service.new_key(quota) for quota in (10, 0, 10))
        with service.client(key) as client:
            found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
            client.get("/usage")
            client.get(f"/searches/{found['id']}")
            client.get("/nowhere")
            client.get("/usage", headers={"Authorization": "Bearer nobody"})
        with service.client(spent) as client:
            for _ in range(2):
                client.post("/contacts", json={"brand": "Veltrana"})
        service.command("pause")
        with service.client(other) as client:
            client.post("/contacts", json={"brand": "Veltrana"})
        answer, with_exemplars = metrics(service), metrics(service, **ACCEPT).text.lower()

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
    refused = "cs_calls_refused_total"
    assert shown(refused, key=spent["id"], code="quota_exhausted") == 2
    assert shown(refused, key=other["id"], code="api_disabled") == 1
    assert shown(refused) == 3

    contact = found["contacts"][0]
    names = (key["key"], key["id"], found["id"], "veltrana", contact["email"])
    assert [each for each in names if each.lower() in with_exemplars] == []
    assert contact["last_name"].lower() not in with_exemplars
    assert "request" in with_exemplars, "exemplars name calls"


def test_what_an_operator_looks_after_is_shown(tmp_path: Path) -> None:
    with served(tmp_path / "data") as service:
        with service.client(service.new_key(10)) as client:
            client.post("/contacts", json={"brand": "Veltrana", "wait": True})
        before = Shown(metrics(service).text)
        began = time.time()
        service.command("backup", str(tmp_path / "backup"))
        shown = Shown(metrics(service).text)

    assert before("cs_backup_timestamp_seconds") == before("cs_not_measured") == 0
    assert shown("cs_backup_timestamp_seconds") > began - 1
    assert shown("cs_key_file_timestamp_seconds", setting="master_key_file") > began - 600
    assert 0 < shown("cs_disk_free_bytes") <= shown("cs_disk_size_bytes")
    assert shown("cs_database_size_bytes", database="log.db") > 0
    answering = [s for s in shown.samples if s.name == "cs_source_answering"]
    assert [s.labels["source"] for s in answering if not s.value] == [], "an empty directory"
