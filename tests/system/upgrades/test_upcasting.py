"""Two versions of one event: the first is upcast wherever it is read."""

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import pytest
from structlog.testing import capture_logs

from cs.domain.codec import decode, from_plain, topic_of
from cs.domain.key import QuotaGranted
from cs.eventlog.port import NO_STREAM, Append
from cs.projections.catalogue import projections
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.usage import USAGE
from domain.golden_files import golden, golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from system.upgrades.quota_granted import (
    V1,
    V2,
    GrantedV2,
    second_version,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def upgraded() -> Iterator[None]:
    with second_version():
        yield


@pytest.mark.usefixtures("upgraded")
def test_the_golden_file_of_the_first_version_reads_as_the_second() -> None:
    stored = golden(V1)

    event = from_plain(*stored)

    assert type(event) is GrantedV2
    assert event.searches == stored.state["units"]
    assert decode(V1, msgspec.json.encode(stored.state)) == event
    assert topic_of(event) == V2


async def test_a_log_with_both_versions_reads_as_one_history() -> None:
    log = MemoryEventLog(MemoryKeyStore())
    await log.append([Append("key-a", NO_STREAM, [QuotaGranted(units=3, at=AT)])])
    with second_version():
        new = GrantedV2(units=4, searches=4, at=AT)
        await log.append([Append("key-a", 0, [new])])

        events = [each.event for each in await log.read("key-a")]
        assert events == [GrantedV2(units=3, searches=3, at=AT), new]
        assert [each.topic for each in await log.stored(0)] == [V1, V2]


async def test_views_are_not_taken_for_those_of_another_log_at_an_event_that_is_upcast() -> (
    None
):
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    issued = golden_event("key.issued.v1")
    await log.append([Append("key-a", NO_STREAM, [issued, QuotaGranted(units=3, at=AT)])])
    views = sqlite_views(None, projections())
    await ViewRunner(log, views, keys).catch_up()

    with second_version(), capture_logs() as lines:
        await log.append([Append("key-b", NO_STREAM, [issued])])
        runner = ViewRunner(log, views, keys)
        await runner.catch_up()

    assert lines == []
    assert runner.position == 3
    assert {key for key, _ in await views.all(USAGE)} == {"a", "b"}
    await views.close()
