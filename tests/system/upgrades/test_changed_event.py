"""A worked second version of an event: *quota granted* calls its units searches.

The release that writes it and upcasts the first exists only here.  It shows what a change of a
stored shape takes (CONTRIBUTING.md, "Adding an event shape").
"""

from contextlib import AbstractContextManager
from datetime import UTC, datetime

import msgspec
from structlog.testing import capture_logs

from cs.domain.codec import ReadOnlyVersion, decode, from_plain, topic_of
from cs.domain.key import QuotaGranted
from cs.domain.messages import Event
from cs.eventlog.port import NO_STREAM, Append
from cs.projections.catalogue import projections
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.usage import USAGE
from domain.golden_files import golden, golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from system.upgrades.releases import release

AT = datetime(2026, 1, 1, tzinfo=UTC)
V1, V2 = "key.quota-granted.v1", "key.quota-granted.v2"


class GrantedV1(Event, frozen=True, kw_only=True):
    units: int
    by: str | None = None


class GrantedV2(QuotaGranted, frozen=True, kw_only=True):
    searches: int


def upcast(v1: GrantedV1) -> GrantedV2:
    return GrantedV2(units=v1.units, searches=v1.units, by=v1.by, at=v1.at)


def second_version() -> AbstractContextManager[None]:
    return release({V2: GrantedV2}, {V1: ReadOnlyVersion(GrantedV1, GrantedV2, upcast)})


def test_the_golden_file_of_the_first_version_reads_as_the_second() -> None:
    stored = golden(V1)

    with second_version():
        event = from_plain(*stored)

        assert type(event) is GrantedV2
        assert event.searches == stored.state["units"]
        assert decode(V1, msgspec.json.encode(stored.state)) == event
        assert topic_of(event) == V2


async def test_views_and_readers_go_on_in_a_log_with_both_versions() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    issued = golden_event("key.issued.v1")
    await log.append([Append("key-a", NO_STREAM, [issued, QuotaGranted(units=3, at=AT)])])
    views = sqlite_views(None, projections())
    await ViewRunner(log, views, keys).catch_up()

    new = GrantedV2(units=4, searches=4, at=AT)
    with second_version(), capture_logs() as lines:
        await log.append([Append("key-a", 1, [new]), Append("key-b", NO_STREAM, [issued])])
        await ViewRunner(log, views, keys).catch_up()
        events = [each.event for each in await log.read("key-a")]

    assert events[1:] == [GrantedV2(units=3, searches=3, at=AT), new]
    assert lines == [], "the views are not taken for those of another log"
    assert await views.position() == 4
    assert {key for key, _ in await views.all(USAGE)} == {"a", "b"}
    await views.close()
