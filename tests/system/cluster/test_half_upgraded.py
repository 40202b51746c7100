"""Processes of this version and the next on one Kafka: neither stops the other.

The next version has the relay and one stage, this one all the rest.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.port import Record
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, STAGE_TOPICS
from harness.service_process import ServiceProcess
from system.cluster.clustered import Clustered
from system.upgrades.newer_messages import ADDED, FIELD, KIND
from system.upgrades.next_version import next_version

pytestmark = pytest.mark.slow

#: Kinds of role that the next version runs in this test.
NEWER = ("relay", "stage-ranking")
RESOLUTION = STAGE_TOPICS["brand-resolution"]


@pytest.fixture
def upgraded(clustered: Clustered, tmp_path: Path) -> Iterator[Clustered]:
    """The service while the next version's roles have taken the place of some."""
    cluster = clustered.cluster
    source = str(next_version(tmp_path / "next", ADDED))
    old = [role for kind in NEWER for role in cluster.of(kind)]
    new = [cluster.add(kind, PYTHONPATH=source) for kind in NEWER]
    try:
        for role in new:
            role.start()
        for role in new:
            role.wait_ready()
        for role in old:
            role.end()
        yield clustered
    finally:
        for role in new:
            role.end()
            del cluster.roles[role.name]
        cluster.start_missing()


class Said(NamedTuple):
    """What is on Kafka of one lookup."""

    lookup: str
    letters: list[Record]
    work: list[Any]  # for contact discovery
    outcomes: list[Any]


async def lookup_of(service: Clustered) -> str:
    """Return the only lookup that was started since the test began."""
    connection = await asyncpg.connect(service.cluster.postgres.dsn_of("service"))
    try:
        (row,) = await connection.fetch(_STARTED, service.after)
    finally:
        await connection.close()
    lookup: str = row["lookup"]
    return lookup


_STARTED = """
SELECT convert_from(state, 'UTF8')::jsonb ->> 'lookup' AS lookup
FROM stored_events WHERE notification_id > $1 AND topic = 'brand.lookup-started.v1'
"""


async def said(service: Clustered) -> Said:
    lookup = await lookup_of(service)
    servers = tuple(service.cluster.kafka.bootstrap.split(","))
    async with (
        KafkaBus(KafkaSettings(bootstrap_servers=servers)) as bus,
        asyncio.timeout(30),
    ):

        async def until(topic: str, is_last: Callable[[Record], bool]) -> list[Record]:
            """Return the records of the lookup up to the last that is expected."""
            found: list[Record] = []
            async with bus.subscribe(topic, group=f"test of {topic} of {lookup}") as records:
                async for record in records:
                    if json.loads(record.value)["lookup"] == lookup:
                        found.append(record)
                        if is_last(record):
                            return found
                    await records.commit(record)
            raise AssertionError(topic)

        letters, work, outcomes = await asyncio.gather(
            until(DEAD_LETTERS, lambda record: b'"ranking"' in record.value),
            until(STAGE_TOPICS["contact-discovery"], lambda _: True),
            until(OUTCOMES, lambda record: b'"domain-verified"' in record.value),
        )
    return Said(lookup, letters, plain(work), plain(outcomes))


def plain(records: list[Record]) -> list[Any]:
    return [json.loads(record.value) for record in records]


def processes(service: Clustered) -> dict[str, int]:
    """Return the process of each role of this version."""
    roles: dict[str, ServiceProcess] = service.cluster.roles
    return {
        name: role.pid
        for name, role in roles.items()
        if role.runs and "PYTHONPATH" not in role.environment
    }


def test_a_search_ends_as_intended_where_half_of_the_roles_are_of_the_next_version(
    upgraded: Clustered,
) -> None:
    before = processes(upgraded)
    with upgraded.client(upgraded.new_key()) as client:
        answer = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
    found = asyncio.run(said(upgraded))

    # As without the next version, and in no process's second life.
    assert (answer["status"], len(answer["contacts"])) == ("done", 4)
    assert processes(upgraded) == before
    # Fields that this version does not know were there, and did not matter.
    assert [FIELD in work for work in found.work] == [True]
    assert {o["stage"] for o in found.outcomes if FIELD in o} == {"ranking"}
    # Kinds that it does not know are kept, with where they stood.
    kept = {
        (letter.headers["topic"], (json.loads(letter.value).get(part) or {})["type"])
        for letter in found.letters
        for part in ("input", "finding")
        if part in json.loads(letter.value)
    }
    assert kept == {(RESOLUTION, KIND), (OUTCOMES, KIND)}
    assert upgraded.stored_topics().count("brand.stage-issued.v1") == 4, "none was given again"
