"""Who is the same person over all lookups, held against comparing every two records."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.eventlog.port import EventLog
from cs.history.identities import identities
from cs.keystore.port import KeyStore
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from history.people import (
    HISTORIES,
    PastLookup,
    Seen,
    erasure,
    names_of,
    same_person,
    store,
)

ADA = Seen("Ada Kern", "Acme", "https://www.linkedin.com/in/ada-kern", "ada@acme.test")
UNLINKED = Seen("Ada Kern", "Acme")
BY_MAILBOX = Seen("A. Kern", None, None, "ada@acme.test")
BEN = Seen("Ben Ode", "Acme", "https://www.linkedin.com/in/ben-ode")

HISTORY = [
    PastLookup("Acme", (ADA, BEN)),
    PastLookup("Zenith", (UNLINKED, BEN)),
    PastLookup("Acme", (BY_MAILBOX, ADA)),
]


async def pseudonyms(
    log: EventLog, keys: KeyStore, history: Sequence[PastLookup]
) -> Mapping[str, str]:
    """Return the pseudonyms of everybody found in *history*, which is stored."""
    async with identities(log, keys) as people:
        return await people.of(name for name, _ in names_of(history))


def groups(who: Mapping[str, str]) -> set[frozenset[str]]:
    return {
        frozenset(name for name, of in who.items() if of == person) for person in who.values()
    }


async def by_history(history: Sequence[PastLookup]) -> Mapping[str, str]:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, history)
    return await pseudonyms(log, keys, history)


@settings(max_examples=settings().max_examples // 3)
@given(HISTORIES)
async def test_two_records_have_one_pseudonym_exactly_if_they_are_of_one_person(
    history: list[PastLookup],
) -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, history)

    who = await pseudonyms(log, keys, history)

    assert groups(who) == same_person(history)
    assert len(who) == len(names_of(history))
    async with identities(log, keys) as people:
        for name, pseudonym in who.items():
            assert name in await people.records_of(pseudonym)


@settings(max_examples=settings().max_examples // 3)
@given(HISTORIES, st.sampled_from("ab"))
async def test_who_is_erased_has_no_pseudonym_any_more_and_no_record_has_it(
    history: list[PastLookup], profile: str
) -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, history)
    url = f"https://www.linkedin.com/in/{profile}"
    async with identities(log, keys) as people:
        names = [name for name, _ in names_of(history)]
        before = await people.of(names)
        theirs = {before[name] for name, seen in names_of(history) if seen.profile == url}

        await erasure(log, keys).erase_profile(url)

        within = await people.of(names)
    after = await pseudonyms(log, keys, history)
    assert not theirs & set(after.values())
    assert not theirs & set(within.values())
    assert within.keys() == after.keys() == (await keys.find(names)).keys()


@pytest.fixture
def stores() -> tuple[MemoryEventLog, MemoryKeyStore]:
    keys = MemoryKeyStore()
    return MemoryEventLog(keys), keys


async def test_a_person_who_was_never_found_has_no_pseudonym(
    stores: tuple[EventLog, KeyStore],
) -> None:
    await store(stores[0], HISTORY)

    async with identities(*stores) as people:
        assert await people.of([]) == {}
        assert await people.of(["brand-none.1-aaaa#p1"]) == {}
        (name, _), *_ = names_of(HISTORY)
        assert await people.of([f"{name}9"]) == {}
        assert (await people.of([name])).keys() == {name}
        assert await people.records_of("person_0000000000000000") == []


async def test_another_key_store_makes_other_pseudonyms() -> None:
    one, other = await by_history(HISTORY), await by_history(HISTORY)

    assert not set(one.values()) & set(other.values())


async def test_no_pseudonym_leads_to_the_stored_events_of_an_erased_person() -> None:
    """The name of a person's stream is a fingerprint: it must not be theirs in an export."""
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, HISTORY)
    who = await pseudonyms(log, keys, HISTORY)
    assert ADA.profile is not None

    await erasure(log, keys).erase_profile(ADA.profile)

    stored = b"".join(event.state + event.stream.encode() for event in await log.stored(0))
    assert not [each for each in who.values() if each.partition("_")[2].encode() in stored]


@pytest.mark.parametrize(("old", "new"), [(b'"box":"', b'"box":"AAAA'), (b"{", b"")])
async def test_a_damaged_event_hides_no_other_person(
    old: bytes, new: bytes, stores: tuple[MemoryEventLog, MemoryKeyStore]
) -> None:
    log, keys = stores
    await store(log, HISTORY)
    whole = await pseudonyms(log, keys, HISTORY)
    damaged = next(e for e in await log.stored(0) if e.topic == "brand.people-found.v1")
    log.spoil(damaged.position, damaged.state.replace(old, new, 1))

    after = await pseudonyms(log, keys, HISTORY)

    # Ada is known by her mailbox still; of Ben that lookup says nothing else.
    (_, _), (ben, _), *_ = names_of(HISTORY)
    assert after == {name: who for name, who in whole.items() if name != ben}
