"""People in events: values whose data key is lost, and the fingerprints that find them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from cs.domain.brand.events import LookupFinished, PeopleFound
from cs.domain.contact import Person
from cs.eventlog.port import NO_STREAM, Append
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
    state = json.loads(log.spoil(1, b""))
    change(state)
    log.spoil(1, json.dumps(state, separators=(",", ":")).encode())


def without_id(state: dict[str, Any]) -> None:
    del state["sealed_with"]  # as the version before has stored it


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
    log: Log, keys: MemoryKeyStore, lose: Callable[[MemoryKeyStore], Any], why: str
) -> None:
    met: list[Any] = []
    await lose(keys)

    with capture_logs() as lines, keys.lost.listening(met.append):
        assert await full_name(log) == ""

    (value,) = met
    assert (value.name, value.why, value.position) == (P1, why, 1)
    assert value.stream == "brand-5f0c"
    assert keys.lost.keys == {why: 1}
    (line,) = [line for line in lines if line["event"] == "data_keys_lost"]
    assert (line["log_level"], line["keys"], line["newest"]) == ("error", {why: 1}, P1)


async def test_a_destroyed_key_is_not_reported(log: Log, keys: MemoryKeyStore) -> None:
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


# Values that name no key of theirs; the first releases stored them so.


@pytest.mark.parametrize("change", [flip_the_id, without_id])
async def test_a_value_opens_under_its_key_whatever_id_it_names(
    log: Log, keys: MemoryKeyStore, change: Callable[[dict[str, Any]], None]
) -> None:
    rewrite(log, change)

    assert await full_name(log) == FOUND.people[0].full_name
    assert not keys.lost.read


@pytest.mark.parametrize(("lose", "why"), [(forgotten, "missing"), (made_again, "unnamed")])
async def test_a_value_without_an_id_that_does_not_open_is_reported_as_that(
    log: Log, keys: MemoryKeyStore, lose: Callable[[MemoryKeyStore], Any], why: str
) -> None:
    rewrite(log, without_id)
    await lose(keys)

    assert await full_name(log) == ""

    assert keys.lost.keys == {why: 1}


# No key for nothing.


async def test_an_erased_person_is_never_given_a_key_again(
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


# The count.


async def test_keys_are_counted_once_and_values_as_often_as_they_are_read(
    log: Log, keys: MemoryKeyStore
) -> None:
    await forgotten(keys)

    with capture_logs() as lines:
        for _ in range(3):
            await full_name(log)

    assert keys.lost.keys == {"missing": 1}
    assert keys.lost.read == {"missing": 3}
    assert [line["values_read_as_erased"] for line in lines] == [1], "once a minute"


# What finds a person.


def prints(keys: MemoryKeyStore) -> set[str]:
    return {print_ for print_, _ in keys._index}


@given(st.text(), st.text(), st.text())
async def test_no_text_is_without_a_fingerprint(one: str, two: str, three: str) -> None:
    for person in (
        Person(person="p1", full_name=one, linkedin_url=two or None),
        Person(person="p1", full_name="", addresses=(two or "a@b", three)),
    ):
        keys = MemoryKeyStore()
        found = PeopleFound(lookup="brand-a.1", people=(person,), at=FOUND.at)
        await MemoryEventLog(keys).append([Append("brand-a", NO_STREAM, [found])])
        if any((person.linkedin_url, *person.addresses)):
            assert prints(keys)


@pytest.mark.parametrize(
    "address",
    [
        "jane@exämple..de",
        "ĳane@exämple..de",
        f"jane@{'ä' * 100_000}",
        "Jane@EXÄMPLE.de ",
        "jane@xn--exmple-cua.de",
    ],
)
async def test_however_its_domain_is_written_a_mailbox_has_a_fingerprint(address: str) -> None:
    keys = MemoryKeyStore()
    keys._secrets["fingerprints"] = bytes(32)
    person = Person(person="p1", full_name="", addresses=(address,))
    found = PeopleFound(lookup="brand-a.1", people=(person,), at=FOUND.at)

    await MemoryEventLog(keys).append([Append("brand-a", NO_STREAM, [found])])

    same = keys.fingerprint("email", "jane@xn--exmple-cua.de")
    assert len(prints(keys)) == 1
    assert (prints(keys) == {same}) == (".." not in address and len(address) < 100)
