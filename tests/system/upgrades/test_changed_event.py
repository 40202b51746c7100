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
from cs.eventlog.port import Append
from domain.golden_files import golden
from harness.outside import tools
from operations.erasure.service import erasable
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


async def test_a_service_goes_on_in_a_log_with_both_versions() -> None:
    new = GrantedV2(units=4, searches=4, at=AT)
    async with erasable(tools()) as service:
        key = await service.new_key(quota=5)
        await service.operator.grant_quota(key.id, 3)
        with second_version(), capture_logs() as lines:
            await service.log.append([Append(f"key-{key.id}", 1, [new])])
            await service.catch_up()
            async with service.client(key) as client:
                usage = (await client.get("/usage")).json()
            _, first, second = (each.event for each in await service.log.read(f"key-{key.id}"))

    assert usage["quota"] == 12
    assert (type(first), first.searches, second) == (GrantedV2, 3, new)
    assert not [line for line in lines if line["event"] == "views_of_another_log"]
