"""What every event log does, wherever it keeps its events."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cs.domain.causation import EventCause, RequestCause
from cs.domain.codec import AnyEvent, encode
from cs.domain.key import KeyRevoked, QuotaGranted
from cs.domain.service import Paused, Resumed
from cs.eventlog.follow import follow
from cs.eventlog.port import (
    EVERYTHING,
    NO_STREAM,
    Append,
    EventLog,
    RecordedEvent,
    Where,
    WrongExpectedVersion,
)
from cs.eventlog.stored_cause import cause_in
from domain.golden_files import golden_event, golden_events

AT = datetime(2026, 1, 1, tzinfo=UTC)
WRITERS = 64


def units(*numbers: int) -> tuple[AnyEvent, ...]:
    """Return small events that tell themselves apart."""
    return tuple(QuotaGranted(units=number, at=AT) for number in numbers)


def said(recorded: Sequence[RecordedEvent]) -> list[int]:
    return [r.event.units for r in recorded if isinstance(r.event, QuotaGranted)]


class EventLogContract:
    """Inherit, and give a fixture ``log``, an empty log."""

    # Versions and positions.

    async def test_an_empty_log_has_no_events_and_head_0(self, log: EventLog) -> None:
        assert await log.head() == 0
        assert list(await log.tail(0)) == []
        assert list(await log.read("key-a")) == []

    async def test_versions_count_from_0_in_a_stream_and_positions_from_1_in_the_log(
        self, log: EventLog
    ) -> None:
        first = await log.append([Append("key-a", NO_STREAM, units(1, 2))])
        second = await log.append([Append("key-b", NO_STREAM, units(3))])
        third = await log.append([Append("key-a", 1, units(4))])

        assert (first, second, third) == (2, 3, 4)
        assert [(r.position, r.stream, r.version) for r in await log.tail(0)] == [
            (1, "key-a", 0),
            (2, "key-a", 1),
            (3, "key-b", 0),
            (4, "key-a", 2),
        ]
        assert await log.head() == 4

    async def test_a_stream_may_be_expected_at_a_version_and_get_nothing(
        self, log: EventLog
    ) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        beside = [Append("key-a", 0, ()), Append("key-never", NO_STREAM, ())]

        assert await log.append([Append("key-b", NO_STREAM, units(2)), *beside]) == 2
        await log.append([Append("key-a", 0, units(3))])
        with pytest.raises(WrongExpectedVersion) as wrong:
            await log.append([Append("key-b", 0, units(4)), *beside])

        assert wrong.value.stream == "key-a"
        assert said(await log.read("key-b")) == [2]
        assert [(r.position, r.stream) for r in await log.tail(0)] == [
            (1, "key-a"),
            (2, "key-b"),
            (3, "key-a"),
        ]

    async def test_a_stream_is_read_in_pages(self, log: EventLog) -> None:
        await log.append([Append("key-a", NO_STREAM, units(*range(4)))])
        await log.append([Append("key-b", NO_STREAM, units(9))])
        await log.append([Append("key-a", 3, units(*range(4, 7)))])

        assert said(await log.read("key-a", limit=3)) == [0, 1, 2]
        assert said(await log.read("key-a", 2, 3)) == [3, 4, 5]
        assert said(await log.read("key-a", 5, 3)) == [6]
        assert said(await log.read("key-a", 6, 3)) == []
        assert said(await log.read("key-a", limit=0)) == []
        assert said(await log.read("key-a", limit=None)) == list(range(7))

    async def test_events_are_selected_by_topic_and_by_stream(self, log: EventLog) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1, 2))])
        await log.append([Append("service", NO_STREAM, [Paused(at=AT), Resumed(at=AT)])])
        await log.append([Append("key-b", NO_STREAM, [KeyRevoked(at=AT), *units(3)])])

        async def selected(where: Where, after: int = 0, upto: int = 99) -> list[int]:
            found = await log.select(where, after, upto)
            return [stored.position for stored in found]

        granted, paused = frozenset({"key.quota-granted.v1"}), frozenset({"service.paused.v1"})
        assert await selected(EVERYTHING) == [1, 2, 3, 4, 5, 6]
        assert await selected(EVERYTHING, 2, 4) == [3, 4]
        assert await selected(Where(topics=granted)) == [1, 2, 6]
        assert await selected(Where(topics=granted | paused), 1, 5) == [2, 3]
        assert await selected(Where(streams=frozenset({"key-b", "service"}))) == [3, 4, 5, 6]
        assert await selected(Where(prefixes=frozenset({"key-"}))) == [1, 2, 5, 6]
        both = Where(streams=frozenset({"service"}), prefixes=frozenset({"key-a"}))
        assert await selected(both) == [1, 2, 3, 4]
        assert await selected(Where(granted, frozenset({"key-b"}))) == [6]
        assert await selected(Where(topics=frozenset())) == []
        assert await selected(Where(streams=frozenset())) == []
        assert await selected(Where(prefixes=frozenset({"key_", "%", "KEY-"}))) == []

    async def test_what_is_read_is_what_was_appended(self, log: EventLog) -> None:
        events = golden_events("brand")
        await log.append([Append("brand-5f0c", NO_STREAM, events)])

        assert [r.event for r in await log.read("brand-5f0c")] == events
        assert [r.event for r in await log.tail(0)] == events

    # Causes.

    async def test_events_have_their_cause_wherever_they_are_read(self, log: EventLog) -> None:
        call = RequestCause(id="req_1", key="key_1")
        event = golden_event("brand.people-found.v1")  # some of it is sealed
        causes = [call, call, EventCause(position=2), None]

        await log.append(
            [
                Append("key-a", NO_STREAM, units(1), call),
                Append("brand-5f0c", NO_STREAM, [event], call),
            ]
        )
        await log.append([Append("key-a", 0, units(2), EventCause(position=2))])
        await log.append([Append("key-a", 1, units(3))])

        assert [r.caused_by for r in await log.tail(0)] == causes
        assert [r.caused_by for r in await log.read("brand-5f0c")] == [call]
        assert [r.event for r in await log.read("brand-5f0c")] == [event]
        assert [cause_in(r.state) for r in await log.stored(0)] == causes
        assert [cause_in(r.state) for r in await log.select(EVERYTHING, 0, 4)] == causes

    async def test_without_a_cause_what_is_stored_says_nothing_of_one(
        self, log: EventLog
    ) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1))])

        assert (await log.stored(0))[0].state == encode(units(1)[0])

    async def test_what_is_stored_is_reported_with_its_place_in_pages(
        self, log: EventLog
    ) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1, 2))])
        await log.append([Append("key-b", NO_STREAM, units(3))])

        stored = await log.stored(0)

        assert [(r.position, r.stream, r.version, r.topic) for r in stored] == [
            (1, "key-a", 0, "key.quota-granted.v1"),
            (2, "key-a", 1, "key.quota-granted.v1"),
            (3, "key-b", 0, "key.quota-granted.v1"),
        ]
        assert [json.loads(r.state)["units"] for r in stored] == [1, 2, 3]
        assert await log.stored(1, 1) == stored[1:2]
        assert list(await log.stored(3)) == []

    @pytest.mark.parametrize("category", ["key", "service", "mail-domain", "person"])
    async def test_every_category_is_read_as_it_was_appended(
        self, log: EventLog, category: str
    ) -> None:
        events = golden_events(category)
        await log.append([Append(f"{category}-x", NO_STREAM, events)])

        assert [r.event for r in await log.read(f"{category}-x")] == events

    async def test_text_that_looks_like_the_log_s_own_marks_is_only_text(
        self, log: EventLog
    ) -> None:
        issued = golden_event("key.issued.v1")
        resolved = golden_event("brand.resolved.v1")
        named = [replace(issued, label=word) for word in ("sealed", "personal")]
        sources = [
            replace(resolved, sources={word: "used"})
            for word in ("sealed", "personal", "box", "person")
        ]
        await log.append([Append("key-a", NO_STREAM, named)])
        await log.append([Append("brand-a", NO_STREAM, sources)])

        assert [r.event for r in await log.read("key-a")] == named
        assert [r.event for r in await log.read("brand-a")] == sources

    # Expected versions.

    @pytest.mark.parametrize("expected", [NO_STREAM, 0, 2, 7])
    async def test_another_expected_version_is_refused_and_nothing_is_stored(
        self, log: EventLog, expected: int
    ) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1, 2))])

        with pytest.raises(WrongExpectedVersion) as refused:
            await log.append([Append("key-a", expected, units(3))])

        assert refused.value.stream == "key-a"
        assert said(await log.tail(0)) == [1, 2]

    async def test_a_stream_cannot_begin_with_a_gap(self, log: EventLog) -> None:
        with pytest.raises(WrongExpectedVersion):
            await log.append([Append("key-a", 0, units(1))])

        assert await log.head() == 0

    async def test_several_streams_are_appended_whole_or_not_at_all(
        self, log: EventLog
    ) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        appends = [Append("brand-b", NO_STREAM, units(2)), Append("key-a", 4, units(3))]

        with pytest.raises(WrongExpectedVersion) as refused:
            await log.append(appends)
        assert refused.value.stream == "key-a"
        assert said(await log.tail(0)) == [1]

        position = await log.append([appends[0], Append("key-a", 0, units(3))])
        assert position == 3
        assert said(await log.tail(0)) == [1, 2, 3]

    async def test_one_conflict_leaves_the_appends_next_to_it_alone(
        self, log: EventLog
    ) -> None:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        appends = [Append(f"key-{n}", NO_STREAM, units(n)) for n in range(10)]
        appends.insert(5, Append("key-a", NO_STREAM, units(99)))

        answers = await asyncio.gather(
            *(log.append([append]) for append in appends), return_exceptions=True
        )

        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        assert [type(error) for error in failed] == [WrongExpectedVersion]
        assert sorted(said(await log.tail(1))) == list(range(10))

    async def test_of_writers_of_one_stream_exactly_one_wins_each_version(
        self, log: EventLog
    ) -> None:
        answers = await asyncio.gather(
            *(log.append([Append("key-a", NO_STREAM, units(n))]) for n in range(20)),
            return_exceptions=True,
        )

        assert sum(isinstance(answer, int) for answer in answers) == 1
        assert len(await log.read("key-a")) == 1

    # Reading as it grows.

    async def test_the_tail_comes_in_pages(self, log: EventLog) -> None:
        await log.append([Append("key-a", NO_STREAM, units(*range(7)))])

        assert said(await log.tail(0, 3)) == [0, 1, 2]
        assert said(await log.tail(3, 3)) == [3, 4, 5]
        assert said(await log.tail(6, 3)) == [6]
        assert said(await log.tail(7, 3)) == []
        assert said(await log.tail(99)) == []

    async def test_waiting_for_growth_ends_with_the_next_append(self, log: EventLog) -> None:
        waiting = asyncio.create_task(log.grown(1))
        await log.append([Append("key-a", NO_STREAM, units(1))])
        assert not waiting.done()

        await log.append([Append("key-a", 0, units(2))])

        async with asyncio.timeout(5):
            await waiting
            await log.grown(0)  # has grown already

    async def test_positions_are_in_commit_order_under_many_writers(
        self, log: EventLog
    ) -> None:
        """A follower that keeps up misses nothing: no position appears behind its back."""
        rounds, seen = 5, list[RecordedEvent]()

        async def write(n: int) -> None:
            for version in range(rounds):
                await log.append([Append(f"key-{n}", version - 1, units(version))])

        async def watch() -> None:
            async for page in follow(log, 0, page=50):
                seen.extend(page)
                if len(seen) >= WRITERS * rounds:
                    return

        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            for n in range(WRITERS):
                tasks.create_task(write(n))

        assert [r.position for r in seen] == list(range(1, WRITERS * rounds + 1))
        for n in range(WRITERS):
            assert [r.version for r in seen if r.stream == f"key-{n}"] == list(range(rounds))

    # Callers that go away.

    async def test_a_caller_that_gives_up_harms_nobody(self, log: EventLog) -> None:
        gone = asyncio.create_task(log.append([Append("key-gone", NO_STREAM, units(1))]))
        others = [
            asyncio.create_task(log.append([Append(f"key-{n}", NO_STREAM, units(n))]))
            for n in range(5)
        ]
        await asyncio.wait([asyncio.create_task(log.head())])
        gone.cancel()

        await asyncio.gather(gone, return_exceptions=True)
        await asyncio.gather(*others)

        stored = len(await log.read("key-gone"))
        assert stored in {0, 1}  # in doubt, as for any lost answer
        assert await log.head() == 5 + stored
        await log.append([Append("key-gone", stored - 1, units(2))])
