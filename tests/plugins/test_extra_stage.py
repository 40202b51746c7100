"""The stage of examples/catch-all-check, in one process and on Kafka."""

import shutil
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import Here
from cli.test_new import pytest_says
from cs.domain.stages.table import EXTRA_STAGES, STAGES
from cs.plugins.contracts.stand_in import ServiceRequest
from harness.served import served
from harness.servers.ports import free_ports
from plugins.installed import Install, write_points
from plugins.played import on_loopback
from system.cluster.cluster import running_cluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "catch-all-check" / "catch_all_check.py"
POINTS = {EXTRA_STAGES: {"catch-all-check": "catch_all_check:ROW"}}
#: Its mail server takes every address.
BRONTELLO = {"brand": "Brontello", "wait": True}
URL = "CS_STAGES__CATCH_ALL_CHECK__URL"
#: How long a search waits for a stage that has no worker.
BUDGET = "budget=timedelta(seconds=10)"


def row_of(**changes: object) -> str:
    """Return a module with a row that is right but for *changes*."""
    row = {"name": "fifth", "after": "ranking", "sees": (), "facts": (), **changes}
    fields = ", ".join(f"{name}={value!r}" for name, value in row.items())
    return (
        "from cs.plugins.stages import ExtraStage\n"
        f"ROW = ExtraStage(give=lambda _: {{}}, make=print, {fields})\n"
    )


@pytest.fixture
def site(install: Install, tmp_path: Path) -> Path:
    """Where the package is installed."""
    module = EXAMPLE.read_text()
    assert BUDGET in module
    hasty = module.replace(BUDGET, "budget=timedelta(seconds=3)")
    install({"catch_all_check.py": hasty}, POINTS)
    return tmp_path / "site"


def second_verifier(port: int = 0) -> AbstractContextManager[str]:
    """Serve a verifier that knows every address, on loopback; enter it for where."""

    def answer(asked: ServiceRequest) -> object:
        return {"exists": dict.fromkeys(asked.json["addresses"], True)}

    return on_loopback(answer, port)


def check_found(answer: dict[str, Any]) -> None:
    """Check that people of *answer* have a likely e-mail, and none has one that is verified."""
    extras = [contact.get("extras", {}) for contact in answer["contacts"]]
    assert any(each.get("likely_email", "").endswith("@brontello.test") for each in extras)
    assert all(contact["email"] is None for contact in answer["contacts"])
    assert answer["reason"] == "no_emails"


def check_skipped(answer: dict[str, Any], again: dict[str, Any]) -> None:
    """Check that *answer* is as if the stage were not there, and that it was reused."""
    assert answer["reason"] == "no_emails"
    assert all("extras" not in contact for contact in answer["contacts"])
    assert again["cached"], "what was established may be reused"


def wait_for_work(client: httpx.Client, admin_port: int) -> None:
    """Wait until Kafka has given partitions to the worker: a stage has 10 s for its work."""
    end = time.monotonic() + 60
    while True:
        health = client.get(f"http://127.0.0.1:{admin_port}/readyz").json()
        if all(each["partitions"] for each in health["bus"]["subscriptions"]):
            return
        assert time.monotonic() < end, f"the worker got no partition: {health}"


@pytest.mark.slow
def test_its_own_test_passes(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE.parent, folder)
    write_points(folder, POINTS)

    printed = pytest_says(folder, PYTHONPATH=str(folder))

    assert " passed" in printed, printed
    assert "failed" not in printed, printed


@pytest.mark.slow
def test_one_process_shows_what_it_finds_and_goes_on_while_its_service_is_away(
    site: Path, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    environment = {"PYTHONPATH": str(site), URL: f"http://127.0.0.1:{port}"}
    with (
        served(tmp_path / "data", **environment) as service,
        service.client(service.new_key()) as client,
    ):
        without = client.post("/contacts", json=BRONTELLO).json()
        again = client.post("/contacts", json=BRONTELLO).json()
        service.command("brands", "forget", "Brontello")
        with second_verifier(port):
            found = client.post("/contacts", json=BRONTELLO).json()

    check_skipped(without, again)
    check_found(found)


@pytest.mark.slow
def test_on_kafka_a_worker_finds_it_and_without_one_the_search_goes_on(site: Path) -> None:
    with second_verifier() as url, running_cluster(packages=site) as cluster:
        headers = {"Authorization": f"Bearer {cluster.new_key()['key']}"}
        with httpx.Client(base_url=cluster.urls[0], headers=headers, timeout=130) as client:
            without = client.post("/contacts", json=BRONTELLO).json()
            again = client.post("/contacts", json=BRONTELLO).json()
            cluster.command("brands", "forget", "Brontello")
            worker = cluster.add("stage-catch-all-check", **{URL: url})
            worker.start()
            worker.wait_ready()
            wait_for_work(client, cluster.admin_ports[worker.name])
            check_found(client.post("/contacts", json=BRONTELLO).json())

    check_skipped(without, again)


@pytest.mark.usefixtures("site")
def test_it_stands_behind_its_stage_in_every_table(here: Here) -> None:
    message = here("new", "stage", "catch-all-check").error(2)
    assert message.startswith("the extra stage catch-all-check is installed already")
    assert list(STAGES)[-2:] == ["verification", "catch-all-check"]
    assert "cs.catch-all-check.v1" in here("topics", "describe").out
    assert "stage-catch-all-check" in here("topics", "acls").out


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("ROW = None", "a NoneType is no ExtraStage"),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        (row_of(after="fourth"), "after 'fourth'; it may be after contact-discovery, ranking"),
        (row_of(after="brand-resolution"), "it may be after contact-discovery"),
        (row_of(sees=("salary",)), "a person has no field 'salary'"),
        (row_of(name="other"), "it calls itself 'other'"),
    ],
)
def test_a_row_that_cannot_be_used_is_refused_by_name(
    install: Install, here: Here, row: str, why: str
) -> None:
    install({"acme_fifth.py": row}, {EXTRA_STAGES: {"fifth": "acme_fifth:ROW"}})

    message = here("topics", "acls").error(2)

    assert message.startswith("extra stage 'fifth'")
    assert why in message
