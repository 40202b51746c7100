"""``/metrics`` of a whole service, in memory: what it did is what is shown."""

import asyncio
import os
import threading
import time
from functools import partial
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from cs.admin.health import Readiness
from cs.assembly.upkeep import measure_files
from cs.domain.stages.table import OWN_STAGES
from cs.metrics.metrics import Metrics
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
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

    assert began - 600 < before("cs_backup_timestamp_seconds") < began, "it is a new folder"
    assert shown("cs_backup_timestamp_seconds") > began - 1
    assert shown("cs_key_file_timestamp_seconds", setting="master_key_file") > began - 600
    assert 0 < shown("cs_disk_free_bytes") <= shown("cs_disk_size_bytes")
    assert shown("cs_database_size_bytes", database="log.db") > 0
    answering = [s for s in shown.samples if s.name == "cs_source_answering"]
    assert {s.value for s in answering} == {1}, "an empty directory is no failure"


async def page(ready: Readiness) -> Shown:
    return Shown((await ready.page(""))[0].decode())


async def test_parts_are_measured_together_and_one_that_fails_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metrics, each_other = Metrics(), [asyncio.Event(), asyncio.Event()]
    ready = Readiness(metrics=metrics)

    async def waits(mine: int) -> None:
        each_other[mine].set()
        await each_other[1 - mine].wait()

    async def damaged() -> None:
        raise LookupError("no such table")

    metrics.measurements |= {"a": partial(waits, 0), "b": partial(waits, 1), "c": damaged}
    with capture_logs() as logs:
        shown = [await page(ready), await page(ready)]
    monkeypatch.setattr("cs.admin.health.WITHIN_S", 0.0)
    hangs = Metrics()
    hangs.ready.of().set(1)
    shown += [await page(Readiness(metrics=hangs, bus=asyncio.Event().wait))]  # type: ignore[arg-type]

    assert [each("cs_not_measured", part="c") for each in shown[:2]] == [1, 1]
    assert [each("cs_not_measured") for each in shown[:2]] == [1, 1]
    assert [(each["event"], each["part"]) for each in logs] == [("not_measured", "c")]
    assert shown[0]("cs_ready") == 1
    assert (shown[2]("cs_not_measured", part="health"), shown[2]("cs_ready")) == (1, 0)


async def test_files_that_hang_keep_one_thread_and_those_that_are_gone_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, go_on, begun = Metrics(), threading.Event(), []
    folder, ready = DataFolder(tmp_path), Readiness(metrics=metrics)
    gone, certificate = tmp_path / "old.db", tmp_path / "ca.pem"
    gone.touch()
    certificate.write_bytes(b"nonsense")
    measure_files(metrics, Settings(kafka_ca_file=certificate), folder)
    shown = [await page(ready)]
    gone.unlink()
    (tmp_path / "broken.db").symlink_to(gone)
    shown += [await page(ready)]

    def hang(_: object) -> object:
        begun.append(1)
        go_on.wait()
        return os.statvfs_result([0] * 10)

    monkeypatch.setattr("cs.assembly.upkeep.os.statvfs", hang)
    monkeypatch.setattr("cs.admin.health.WITHIN_S", 0.01)
    shown += [await page(ready) for _ in range(3)]
    go_on.set()

    # Of a busy machine other parts may be late, too.
    late = [
        {s.labels["part"] for s in each.samples if s.name == "cs_not_measured" and s.value}
        for each in shown
    ]
    assert late[:2] == [set(), set()]
    assert all("files" in each for each in late[2:])
    assert len(begun) == 1
    sizes = [
        {s.labels["database"] for s in each.samples if "base_size" in s.name} for each in shown
    ]
    assert sizes[:2] == [{"old.db"}, set()]
