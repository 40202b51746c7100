"""Deciding on state that is kept folded: never stale, and races are tried again."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from cs.domain.brand.events import LookupStarted, PeopleFound
from cs.domain.causation import StartCause
from cs.domain.codec import AnyEvent
from cs.domain.contact import Person, Query
from cs.domain.key import GrantQuota, KeyIssued, QuotaGranted, decide
from cs.domain.refusal import Refusal
from cs.eventlog import categories, streams
from cs.eventlog.fingerprints import profile_print
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    Ceiling,
    LogUnavailable,
    RecordedEvent,
    WrongExpectedVersion,
)
from cs.eventlog.streams import PAGE, Prepared, Streams
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.places import Place, log_in

AT = datetime(2026, 1, 1, tzinfo=UTC)
PROFILE = "https://www.linkedin.com/in/ada"
ADA = Person(person="p1", full_name="Ada", linkedin_url=PROFILE)
ISSUED = KeyIssued(label="a", quota=0, secret_hash="h", last4="", at=AT)


@pytest.fixture
def log() -> MemoryEventLog:
    return MemoryEventLog(MemoryKeyStore())


def grant(units: int) -> Any:
    return lambda state: decide(GrantQuota(units=units, at=AT), state)


async def _issue(log: MemoryEventLog, key_id: str = "a") -> None:
    await log.append([Append(f"key-{key_id}", NO_STREAM, [ISSUED])])


async def test_what_another_process_stored_is_part_of_every_decision(
    log: MemoryEventLog,
) -> None:
    """A kept state may neither refuse nor do nothing without a look at what is new."""
    await _issue(log)
    mine, other = Streams(log), Streams(log)
    assert (await mine.key("a")).state.quota == 0

    await other.change("key-a", grant(5), caused_by=StartCause())

    assert (await mine.key("a")).state.quota == 5
    await mine.change(
        "key-a", grant(-5), caused_by=StartCause()
    )  # refused on the state kept before


async def test_a_state_in_memory_is_read_again_unless_it_has_the_version_that_was_read(
    log: MemoryEventLog,
) -> None:
    await _issue(log)
    mine, other = Streams(log), Streams(log)
    before = await mine.key("a")
    await other.change("key-a", grant(5), caused_by=StartCause())

    assert await mine.key("a", before.version) is before
    assert (await mine.key("a", before.version + 1)).state.quota == 5


async def test_writers_of_two_processes_lose_no_change(log: MemoryEventLog) -> None:
    await _issue(log)
    both = (Streams(log), Streams(log))

    await asyncio.gather(
        *(both[n % 2].change("key-a", grant(1), caused_by=StartCause()) for n in range(40))
    )

    assert (await Streams(log).key("a")).state.quota == 40


class Contended(MemoryEventLog):
    """Somebody else always wins."""

    async def append(self, appends: Sequence[Append], ceiling: object = None) -> int:
        del ceiling
        raise WrongExpectedVersion(appends[0].stream, 0, 1)


async def test_losing_every_race_is_reported_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "RETRY_FOR_S", 0.01)

    with pytest.raises(LogUnavailable, match="lost every race"):
        await Streams(Contended(MemoryKeyStore())).change(
            "key-a", lambda _: [ISSUED], caused_by=StartCause()
        )


class Slow(MemoryEventLog):
    """Somebody else wins a few times, and each try takes longer than retrying may."""

    lost = 0

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        if self.lost < 3:
            self.lost += 1
            raise WrongExpectedVersion(appends[0].stream, 0, 1)
        return await super().append(appends, ceiling)


async def test_a_slow_machine_is_no_reason_to_lose_a_race(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "RETRY_FOR_S", 0.0)

    stored, _ = await Streams(Slow(MemoryKeyStore())).change(
        "key-a", lambda _: [ISSUED], caused_by=StartCause()
    )

    assert stored == (ISSUED,)


def _bound(monkeypatch: pytest.MonkeyPatch, category: str, cached: int) -> None:
    fewer = msgspec.structs.replace(categories.CATEGORIES[category], cached=cached)
    monkeypatch.setitem(categories.CATEGORIES, category, fewer)


async def test_states_kept_are_bounded_and_a_dropped_one_is_folded_again(
    log: MemoryEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bound(monkeypatch, "key", 2)
    folded = Streams(log)
    for key_id in "abc":
        await _issue(log, key_id)
        await folded.change(f"key-{key_id}", grant(1), caused_by=StartCause())

    assert [(await folded.key(key_id)).state.quota for key_id in "abc"] == [1, 1, 1]
    assert list(folded._cache["key"]) == ["key-b", "key-c"]


class Counting(MemoryEventLog):
    """Tells how many events were read."""

    read_so_far = 0

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        found = await super().read(stream, after, limit)
        await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])  # as a disk does
        self.read_so_far += len(found)
        return found


class Paged(MemoryEventLog):
    """Tells how long each page was, and how many turns somebody else had had before it."""

    def __init__(self, keys: MemoryKeyStore) -> None:
        super().__init__(keys)
        self.pages: list[int] = []
        self.turns_before: list[int] = []
        self.turns = 0

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        self.turns_before.append(self.turns)
        asyncio.get_running_loop().call_soon(self._turn)
        found = await super().read(stream, after, limit)
        self.pages.append(len(found))
        return found

    def _turn(self) -> None:
        self.turns += 1


async def test_callers_at_once_have_a_stream_folded_once() -> None:
    log = Counting(MemoryKeyStore())
    await _issue(log)
    await Streams(log).change("key-a", grant(5), caused_by=StartCause())
    log.read_so_far, folded = 0, Streams(log)

    found = await asyncio.gather(*(folded.key("a") for _ in range(20)))

    assert [each.state.quota for each in found] == [5] * 20
    assert log.read_so_far == 2


async def test_while_a_long_stream_is_folded_others_get_their_turns() -> None:
    log = Paged(MemoryKeyStore())
    await _issue(log)
    long = 5 * PAGE + 7
    await log.append([Append("key-a", 0, [QuotaGranted(units=1, at=AT)] * long)])

    events, position = await Streams(log).change("key-a", grant(-long), caused_by=StartCause())

    assert log.pages == [PAGE] * 5 + [8]  # its first event is the key's own
    assert log.turns_before == list(range(6))
    assert position == long + 2
    assert events == (QuotaGranted(units=-long, at=AT),)  # decided on the whole of it
    with pytest.raises(Refusal):
        await Streams(log).change("key-a", grant(-1), caused_by=StartCause())


class Held(MemoryEventLog):
    """The first read hands over what it found only when it is let go."""

    def __init__(self) -> None:
        super().__init__(MemoryKeyStore())
        self.read_by_now, self.let_go = asyncio.Event(), asyncio.Event()
        self.hold = False

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        found = await super().read(stream, after, limit)
        if self.hold:
            self.hold = False
            self.read_by_now.set()
            await self.let_go.wait()
        return found


async def test_an_older_read_that_ends_later_replaces_nothing_newer() -> None:
    log = Held()
    await _issue(log)
    folded = Streams(log)
    await folded.key("a")
    log.hold = True
    early = asyncio.create_task(folded.key("a"))
    await log.read_by_now.wait()
    await folded.change("key-a", grant(5), caused_by=StartCause())
    await folded.key("a")
    log.let_go.set()

    assert (await early).state.quota == 0
    assert folded._cache["key"]["key-a"].state.quota == 5


async def test_one_caller_at_a_time_holds_a_stream_and_the_lock_is_dropped_afterwards(
    log: MemoryEventLog,
) -> None:
    folded, inside, most = Streams(log), 0, 0

    async def hold(stream: str) -> None:
        nonlocal inside, most
        async with folded.lock(stream):
            inside += 1
            most = max(most, inside)
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
            inside -= 1

    await asyncio.gather(*(hold("key-a") for _ in range(5)))
    assert most == 1
    await asyncio.gather(hold("key-a"), hold("key-b"))
    assert most == 2
    assert len(folded._stream_locks) == 0


async def test_a_change_on_a_state_that_is_old_is_decided_again_on_the_newest() -> None:
    """An old state in memory neither refuses a change, nor makes nothing of it."""
    log = MemoryEventLog(MemoryKeyStore())
    await _issue(log)
    folded, other = Streams(log), Streams(log)

    def take_all(state: Any) -> Sequence[AnyEvent]:
        return (QuotaGranted(units=-state.quota, at=AT),) if state.quota else ()

    for refused_or_nothing_before in (grant(-3), take_all):
        await folded.key("a")
        await other.change("key-a", grant(3), caused_by=StartCause())

        await folded.change("key-a", refused_or_nothing_before, caused_by=StartCause())

        assert (await folded.key("a")).state.quota == 0


async def test_a_change_is_prepared_again_if_another_stream_moved(log: MemoryEventLog) -> None:
    await _issue(log)
    await _issue(log, "b")
    versions = [0, 1]

    async def prepare() -> Prepared:
        version = versions.pop(0)
        if version == 0:  # it is read, and moves
            await log.append([Append("key-b", 0, [QuotaGranted(units=1, at=AT)])])
        return Prepared(grant(1), [Append("key-b", version, ())])

    cause = StartCause()
    events, position = await Streams(log).change_by_others("key-a", prepare, caused_by=cause)

    assert (len(events), position, versions) == (1, 4, [])


async def test_a_person_without_a_key_is_read_as_stored(place: Place) -> None:
    """What this process was given is not what it remembers of them."""
    keys, lookup = MemoryKeyStore(), "brand-1.1-x"
    started = LookupStarted(lookup=lookup, number=1, query=Query("Nike"), deadline_at=AT, at=AT)
    seen = PeopleFound(lookup=lookup, people=(ADA,), at=AT)
    async with log_in(place, keys) as log:
        streams_ = Streams(log)
        await log.append([Append("brand-1", NO_STREAM, [started])])
        await keys.suppress([profile_print(keys, PROFILE)])

        await streams_.change("brand-1", lambda _: (seen,), caused_by=StartCause())

        live = (await streams_.brand("brand-1")).state.live
    assert live is not None
    assert [person.full_name for person in live.people] == [""]
