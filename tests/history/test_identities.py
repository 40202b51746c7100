"""Who is the same person over all lookups, held against comparing every two records."""

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.identities import (
    ADA,
    HISTORY,
    NAMESAKE,
    UNLINKED,
    IdentitiesContract,
    groups,
    pseudonyms,
)
from cs.eventlog.port import EventLog
from cs.history import identities as module
from cs.history.identities import identities
from cs.keystore.port import KeyStore
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from history.people import (
    HISTORIES,
    PastLookup,
    erasure,
    in_files,
    in_postgres,
    names_of,
    same_person,
    store,
)


async def by_history(history: Sequence[PastLookup]) -> Mapping[str, str]:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, history)
    return await pseudonyms(log, keys, history)


@given(HISTORIES)
async def test_two_records_have_one_pseudonym_exactly_if_they_are_of_one_person(
    history: list[PastLookup],
) -> None:
    who = await by_history(history)

    assert groups(who) == same_person(history)
    assert len(who) == len(names_of(history))


@given(HISTORIES, st.randoms(use_true_random=False), st.integers(0, 3))
async def test_it_is_the_same_however_it_is_asked(
    history: list[PastLookup], random: st.DataObject, streams: int
) -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, history)
    names = [name for name, _ in names_of(history)]
    at_once = await pseudonyms(log, keys, history)
    random.shuffle(names)  # type: ignore[attr-defined]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STREAMS", streams)
        async with identities(log, keys) as people:
            one_by_one = {name: (await people.of([name]))[name] for name in names}

    assert one_by_one == at_once


@given(HISTORIES, HISTORIES)
async def test_whoever_has_a_profile_keeps_the_pseudonym_for_good(
    history: list[PastLookup], later: list[PastLookup]
) -> None:
    keys = MemoryKeyStore()
    log, both = MemoryEventLog(keys), MemoryEventLog(keys)
    await store(log, history)
    await store(both, [*history, *later])

    before = await pseudonyms(log, keys, history)
    after = await pseudonyms(both, keys, [*history, *later])

    for name, seen in names_of(history):
        if seen.profile is not None:
            assert after[name] == before[name]


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


# Every log and key store.


class TestInMemory(IdentitiesContract):
    @pytest.fixture
    def stores(self) -> tuple[EventLog, KeyStore]:
        keys = MemoryKeyStore()
        return MemoryEventLog(keys), keys


class TestInFiles(IdentitiesContract):
    @pytest.fixture
    async def stores(self, tmp_path: Path) -> AsyncIterator[tuple[EventLog, KeyStore]]:
        async with in_files(tmp_path) as stores:
            yield stores


class TestInPostgres(IdentitiesContract):
    @pytest.fixture
    async def stores(self, every_database: str) -> AsyncIterator[tuple[EventLog, KeyStore]]:
        async with in_postgres(every_database) as stores:
            yield stores


# What no store has a part in.


async def test_a_name_that_two_profiles_have_is_of_neither() -> None:
    history = [PastLookup("Acme", (ADA, NAMESAKE)), PastLookup("Zenith", (UNLINKED, UNLINKED))]

    who = await by_history(history)

    assert sorted(map(len, groups(who))) == [1, 1, 2]


async def test_another_key_store_makes_other_pseudonyms() -> None:
    one, other = await by_history(HISTORY), await by_history(HISTORY)

    assert not set(one.values()) & set(other.values())


async def test_no_pseudonym_leads_to_what_the_log_says_of_who_was_erased() -> None:
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
async def test_what_is_damaged_hides_nobody_else(
    old: bytes, new: bytes, tmp_path: Path
) -> None:
    async with in_files(tmp_path) as (log, keys):
        await store(log, HISTORY)
        whole = await pseudonyms(log, keys, HISTORY)
        damaged = next(e for e in await log.stored(0) if e.topic == "brand.people-found.v1")
        with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as file:
            query = "UPDATE stored_events SET state = ? WHERE rowid = ?"
            file.execute(query, (damaged.state.replace(old, new, 1), damaged.position))

        after = await pseudonyms(log, keys, HISTORY)

    # Ada is known by her mailbox still; of Ben that lookup says nothing else.
    (_, _), (ben, _), *_ = names_of(HISTORY)
    assert after == {name: who for name, who in whole.items() if name != ben}
