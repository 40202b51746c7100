"""Data keys that a key store has forgotten: values read as erased, and somebody is reported."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from structlog.testing import capture_logs

from cs.domain.brand.events import LookupFinished, PeopleFound
from cs.eventlog.mapper import NewEvent
from cs.eventlog.port import NO_STREAM, Append
from cs.keystore.lost import LOG_EVERY_S, LostValue, LostValues, Why
from domain.golden_files import golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog


def people_found() -> PeopleFound:
    event = golden_event("brand.people-found.v1")
    assert isinstance(event, PeopleFound)
    return event


FOUND = people_found()
P1 = f"{FOUND.lookup}#p1"

Log = MemoryEventLog


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
async def log(keys: MemoryKeyStore) -> Log:
    """A log that holds one person."""
    log = MemoryEventLog(keys)
    await log.append([Append("brand-5f0c", NO_STREAM, [FOUND])])
    return log


async def full_name(log: Log) -> str:
    event = (await log.read("brand-5f0c"))[0].event
    assert isinstance(event, PeopleFound)
    return event.people[0].full_name


def rewrite(log: Log, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what is stored as the first event."""
    stored = log._events[0]
    state = json.loads(stored.state)
    change(state)
    log._events[0] = NewEvent(
        stored.stream,
        stored.version,
        stored.topic,
        json.dumps(state, separators=(",", ":")).encode(),
    )


def without_id(state: dict[str, Any]) -> None:
    del state["sealed_with"]  # as the version before has stored it


def flip_the_box(state: dict[str, Any]) -> None:
    box = state["people"][0]["box"]
    state["people"][0]["box"] = ("B" if box[0] == "A" else "A") + box[1:]


def flip_the_id(state: dict[str, Any]) -> None:
    named = state["sealed_with"]["p1"]
    state["sealed_with"]["p1"] = ("1" if named[0] == "0" else "0") + named[1:]


async def forgotten(keys: MemoryKeyStore) -> None:
    """As a store that came back from before that key was made."""
    keys._keys.clear()


async def made_again(keys: MemoryKeyStore) -> None:
    await forgotten(keys)
    await keys.ensure([P1])


@pytest.mark.parametrize(("lose", "why"), [(forgotten, "missing"), (made_again, "another")])
async def test_a_lost_key_reads_as_erased_and_is_reported(
    log: Log, keys: MemoryKeyStore, lose: Callable[[MemoryKeyStore], Any], why: Why
) -> None:
    met: list[LostValue] = []
    await lose(keys)

    with capture_logs() as lines, keys.lost.listening(met.append):
        assert await full_name(log) == ""

    assert met == [LostValue(P1, why, 1, "brand-5f0c")]
    assert keys.lost.keys == {why: 1}
    (line,) = [line for line in lines if line["event"] == "data_keys_lost"]
    assert (line["log_level"], line["keys"], line["newest"]) == ("error", {why: 1}, P1)


async def test_a_destroyed_key_is_nothing_to_tell(log: Log, keys: MemoryKeyStore) -> None:
    await keys.destroy([P1])

    assert await full_name(log) == ""

    assert not keys.lost.read


async def test_what_is_sealed_under_the_new_key_opens_next_to_what_is_lost(
    log: Log, keys: MemoryKeyStore
) -> None:
    await forgotten(keys)
    await log.append([Append("brand-5f0c", 0, [FOUND])])

    first, second = [each.event for each in await log.read("brand-5f0c")]

    assert isinstance(first, PeopleFound)
    assert first.people[0].full_name == ""
    assert second == FOUND
    assert keys.lost.read == {"another": 1}


async def test_another_process_s_key_is_asked_for_before_anything_counts_as_lost(
    log: Log, keys: MemoryKeyStore
) -> None:
    class Stale(MemoryKeyStore):
        """Has kept another key of that name in memory."""

        async def find(self, names: Any) -> dict[str, bytes]:
            return dict.fromkeys(names, b"k" * 32)

    stale = Stale()
    stale._keys = keys._keys
    log._keys = stale

    assert await full_name(log) == FOUND.people[0].full_name
    assert not stale.lost.read


# Damage stays damage.


async def test_a_bit_that_changed_in_a_value_is_damage(log: Log) -> None:
    rewrite(log, flip_the_box)

    with pytest.raises(InvalidTag):
        await full_name(log)


async def test_a_value_opens_under_its_key_though_the_id_of_that_changed(log: Log) -> None:
    rewrite(log, flip_the_id)

    assert await full_name(log) == FOUND.people[0].full_name


# What was stored before values named their key.


async def test_a_value_without_an_id_opens_as_ever(log: Log, keys: MemoryKeyStore) -> None:
    rewrite(log, without_id)

    assert await full_name(log) == FOUND.people[0].full_name
    assert not keys.lost.read


@pytest.mark.parametrize(("lose", "why"), [(forgotten, "missing"), (made_again, "unnamed")])
async def test_a_value_without_an_id_that_does_not_open_is_reported_as_that(
    log: Log, keys: MemoryKeyStore, lose: Callable[[MemoryKeyStore], Any], why: Why
) -> None:
    rewrite(log, without_id)
    await lose(keys)

    assert await full_name(log) == ""

    assert keys.lost.keys == {why: 1}


def sealed(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "sealed" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from sealed(each)


# No key for nothing.


async def test_who_reads_as_erased_is_never_given_a_key_again(
    log: Log, keys: MemoryKeyStore
) -> None:
    finished = golden_event("brand.lookup-finished.v1")
    assert isinstance(finished, LookupFinished)
    await log.append([Append("brand-5f0c", 0, [finished])])
    await forgotten(keys)
    events = [each.event for each in await log.read("brand-5f0c")]

    await log.append([Append("brand-5f0c", 1, events)])

    assert keys._keys == {}
    assert [e.event for e in await log.read("brand-5f0c", 1)] == events


# The count, and how often it is reported.


def test_keys_are_counted_once_and_values_as_often_as_they_are_read() -> None:
    lost = LostValues()

    for _ in range(3):
        lost.note([LostValue("a", "missing"), LostValue("b", "another")])

    assert lost.keys == {"missing": 1, "another": 1}
    assert lost.read == {"missing": 3, "another": 3}


def test_it_is_reported_at_once_and_then_once_a_minute() -> None:
    now = 100.0
    lost = LostValues(lambda: now)

    with capture_logs() as lines:
        lost.note([])
        lost.note([LostValue("a", "missing")])
        lost.note([LostValue("b", "missing")])
        now += LOG_EVERY_S
        lost.note([LostValue("c", "missing")])

    assert [line["values_read_as_erased"] for line in lines] == [1, 3]
