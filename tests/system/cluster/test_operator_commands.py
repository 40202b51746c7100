"""Every command of the operator, while a service runs as several processes."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from cs.domain.stages.table import OWN_STAGES
from system.cluster.clustered import ERASED_FROM, Clustered

pytestmark = pytest.mark.slow


def rows(clustered: Clustered, *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in clustered.command(*words, "--json").splitlines()]


def search(http: httpx.Client, brand: str) -> dict[str, Any]:
    answer = http.post("/contacts", json={"brand": brand, "wait": True})
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


def test_every_node_follows_the_pause_switch(clustered: Clustered) -> None:
    with clustered.client(clustered.new_key()) as http:
        paused = rows(clustered, "pause")[0]
        refused = [http.post("/contacts", json={"brand": "Veltrana"}) for _ in range(2)]
        resumed = rows(clustered, "resume")[0]
        found = search(http, "Veltrana")

    assert paused == {"api": "paused", "changed": True}
    assert [r.status_code for r in refused] == [503, 503]
    assert {r.json()["error"]["code"] for r in refused} == {"api_disabled"}
    assert resumed == {"api": "resumed", "changed": True}
    assert found["status"] == "done"


def test_the_status_shows_a_ready_process_of_every_role(clustered: Clustered) -> None:
    roles = {
        *("api", "relay", "process-manager", "project"),
        *(f"stage {name}" for name in OWN_STAGES),
    }
    began = time.monotonic()
    while True:
        (shown,) = rows(clustered, "status")
        cluster = shown["cluster"]
        ready = {each["role"] for each in cluster["processes"] if each["ready"]}
        if ready == roles or time.monotonic() - began > 60:  # one has just started
            break

    assert ready == roles
    assert (cluster["missing"], shown["health"]) == ([], None)
    assert [name for name, lease in cluster["leases"].items() if not lease["taken"]] == []


def test_a_person_is_erased_from_past_and_later_answers(
    clustered: Clustered,
) -> None:
    with clustered.client(clustered.new_key()) as http:
        found = search(http, ERASED_FROM)
        person = found["contacts"][0]
        erased = rows(clustered, "people", "erase", f"--email={person['email']}")[0]
        read = http.get(f"/searches/{found['id']}").json()
        clustered.command("brands", "forget", ERASED_FROM)
        later = search(http, ERASED_FROM)
        reapplied = rows(clustered, "people", "reapply")[0]

    assert (erased["known"], erased["changed"]) == (True, True)
    for answer in (read, later):
        assert len(answer["contacts"]) == len(found["contacts"]) - 1
        assert person["email"] not in json.dumps(answer)
    assert read["charged"] == found["charged"]
    assert reapplied["people"] >= 1


def test_bounces_imported_by_command_or_http_correct_the_answers_of_every_node(
    clustered: Clustered, tmp_path: Path
) -> None:
    with clustered.client(clustered.new_key()) as http:
        found = search(http, "Corvelune")
        first, second = sorted(
            contact["email"] for contact in found["contacts"] if contact["email"]
        )[:2]
        file = tmp_path / "bounces.jsonl"
        file.write_text(json.dumps({"email": first, "status": "5.1.1"}) + "\n")
        imported = rows(clustered, "mailboxes", "bounced", str(file))[0]["counts"]
        after_one = [search(http, "Corvelune") for _ in range(2)]  # one of each node
        port = clustered.cluster.admin_ports["process-manager-1"]
        posted = httpx.post(
            f"http://127.0.0.1:{port}/mailboxes/bounced",
            json={"bounces": [{"email": second, "status": "5.1.1"}]},
        )
        after_both = [search(http, "Corvelune") for _ in range(2)]

    assert (imported["recorded"], imported["corrected"]) == (1, 1)
    assert posted.json()["counts"]["corrected"] == 1
    for answers, gone in ((after_one, {first}), (after_both, {first, second})):
        for answer in answers:
            assert answer["cached"]
            assert not gone & {contact["email"] for contact in answer["contacts"]}
