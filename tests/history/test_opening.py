"""What is sealed in stored events, opened in its place or value by value."""

from datetime import UTC, datetime

import msgspec
import pytest

from cs.domain.brand.events import PeopleFound
from cs.domain.codec import decode, encode, topic_of
from cs.domain.contact import Person
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import EVERYTHING, NO_STREAM, Append, SealedEvent
from cs.eventlog.sealing import SEALED_VALUE, sealed_values
from cs.history.opening import SealedPeople, SealedValue, names_of, opened, opener
from cs.keystore.memory import MemoryKeyStore
from domain.golden_files import NAMES, golden_event

AT = datetime(2026, 3, 1, tzinfo=UTC)
GOLDEN = [golden_event(name) for name in NAMES if name.startswith("brand.")]
DECODER = msgspec.json.Decoder(Person)


class Found(SealedPeople, frozen=True, kw_only=True):
    people: tuple[SealedValue, ...]


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
async def stored(keys: MemoryKeyStore) -> list[SealedEvent]:
    """Every event of a brand that was ever stored."""
    log = MemoryEventLog(keys)
    await log.append([Append("brand-0a1b", NO_STREAM, GOLDEN)])
    return list(await log.select(EVERYTHING, 0, len(GOLDEN)))


async def test_all_that_an_event_says_is_opened(
    keys: MemoryKeyStore, stored: list[SealedEvent]
) -> None:
    states = await opened(keys, stored)

    assert [
        state and decode(event.topic, state)
        for event, state in zip(stored, states, strict=True)
    ] == GOLDEN
    assert sum(b'"sealed":' in event.state for event in stored) > 5


async def test_every_sealed_value_is_found(stored: list[SealedEvent]) -> None:
    for event in stored:
        walked = sealed_values(msgspec.json.decode(event.state))
        assert [
            (personal.decode(), person.decode(), box.decode())
            for personal, person, box in SEALED_VALUE.findall(event.state)
        ] == [(value["sealed"], value["person"], value["box"]) for value in walked]


async def test_what_is_said_cannot_look_sealed(keys: MemoryKeyStore) -> None:
    said = '","x":{"sealed":"person","person":"p1","box":"AAAA"},"y":"'
    event = next(e for e in GOLDEN if type(e).__name__ == "AttemptFailed")
    event = msgspec.structs.replace(event, why=said)

    state = encode(event)
    [found] = await opened(keys, [SealedEvent(1, "brand-0a1b", 0, topic_of(event), state)])

    assert found == state


async def test_who_is_erased_reads_so_and_who_is_lost_is_noted(keys: MemoryKeyStore) -> None:
    people = tuple(Person(person=f"p{n}", full_name=f"Ada {n}") for n in range(3))
    event = PeopleFound(at=AT, lookup="brand-0a1b.1", people=people)
    log = MemoryEventLog(keys)
    await log.append([Append("brand-0a1b", NO_STREAM, [event])])
    [found] = await log.select(EVERYTHING, 0, 1)
    plain = msgspec.json.decode(found.state, type=Found)
    erased, lost, *_ = names = list(names_of(plain, plain.people))
    await keys.destroy([erased])
    del keys._keys[lost]

    opens = await opener(keys, names)
    values = [opens.read(found, plain, value, DECODER) for value in plain.people]
    [state] = await opened(keys, [found])

    assert values[:2] == [None, None]
    assert values[2] == people[2]
    assert [(v.name, v.why, v.position) for v in opens.lost] == [
        (lost, "missing", found.position)
    ]
    assert keys.lost.keys == {"missing": 1}
    again = decode(found.topic, state or b"")
    assert isinstance(again, PeopleFound)
    assert [person.full_name for person in again.people] == ["", "", "Ada 2"]


@pytest.mark.parametrize(("old", "new"), [(b'"box":"', b'"box":"AAAA'), (b"{", b"[")])
async def test_a_damaged_event_hides_no_other(
    old: bytes, new: bytes, keys: MemoryKeyStore, stored: list[SealedEvent]
) -> None:
    n = next(n for n, e in enumerate(stored) if e.topic.startswith("brand.people-found"))
    stored[n] = stored[n]._replace(state=stored[n].state.replace(old, new, 1))

    states = await opened(keys, stored)

    assert [n for n, state in enumerate(states) if state is None] == [n]
