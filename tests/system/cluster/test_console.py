"""The console as a role of its own, next to those of a whole service."""

import asyncio
import re
from collections.abc import Iterator

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from cs.bus.topics import OUTCOMES
from system.cluster.clustered import Clustered

pytestmark = pytest.mark.slow


@pytest.fixture
def console(clustered: Clustered) -> Iterator[httpx.Client]:
    cluster = clustered.cluster
    role = cluster.add("console")
    try:
        role.start()
        role.wait_ready()
        url = f"http://127.0.0.1:{cluster.admin_ports[role.name]}/console"
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
            yield client
    finally:
        role.end()
        del cluster.roles[role.name]


def until(client: httpx.Client, path: str, words: str) -> str:
    """Return the page once it has *words*."""
    page = ""
    while words not in page:
        answer = client.get(path)
        assert answer.status_code == 200, answer.text
        page = answer.text
    return page


def form(page: str, **fields: str) -> dict[str, str]:
    return {"csrf": re.findall(r'name="csrf" value="(\w+)"', page)[0], **fields}


async def publish(bootstrap: str, topic: str, value: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        await producer.send_and_wait(topic, value, key=b"k")


def test_it_shows_what_other_processes_do(clustered: Clustered, console: httpx.Client) -> None:
    with clustered.client(clustered.new_key()) as caller:
        body = {"brand": "Veltrana", "wait": True}
        found = caller.post("/contacts", json=body).raise_for_status().json()
    search = until(console, f"/searches/{found['id']}", "verification")
    report = until(console, "/report", "Searches answered")
    sources = console.get("/sources")

    assert found["contacts"][0]["full_name"] not in search
    assert "SQL: summary" in report
    assert sources.status_code == 200


def test_dead_letters_of_other_processes_are_handled_there(
    clustered: Clustered, console: httpx.Client
) -> None:
    asyncio.run(publish(clustered.cluster.kafka.bootstrap, OUTCOMES, b"no outcome"))
    page = until(console, "/dead-letters", f"{OUTCOMES} ")
    (letter,) = set(re.findall(r'<option value="(\d+-\d+)"', page))
    said = console.post("/dead-letters/discard", data=form(page, letter=letter))
    people = console.get("/people").text
    fields = form(people, email="nobody.knows@acme.test")
    erased = console.post("/people/erase", data=fields)

    assert "It is discarded." in said.text
    assert "Later searches leave this person out" in erased.text
    assert "dead letter discarded" in clustered.command("log", "trail")
