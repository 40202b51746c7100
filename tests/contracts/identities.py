"""Who is the same person, whatever log and key store hold them."""

from collections.abc import Mapping, Sequence

from cs.eventlog.port import EventLog
from cs.history.identities import identities
from cs.history.person import held_on
from cs.keystore.port import KeyStore
from history.people import (
    PastLookup,
    Seen,
    erasure,
    long_history,
    names_of,
    same_person,
    store,
)

ADA = Seen("Ada Kern", "Acme", "https://www.linkedin.com/in/ada-kern", "ada@acme.test")
UNLINKED = Seen("Ada Kern", "Acme")
BY_MAILBOX = Seen("A. Kern", None, None, "ada@acme.test")
NAMESAKE = Seen("Ada Kern", "Acme", "https://www.linkedin.com/in/another-ada-kern")
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


class IdentitiesContract:
    """Inherit, and give a fixture ``stores``, an empty log and the key store that it uses."""

    async def test_one_person_has_one_pseudonym_in_all_lookups(
        self,
        stores: tuple[EventLog, KeyStore],
    ) -> None:
        await store(stores[0], HISTORY)

        first = await pseudonyms(*stores, HISTORY)
        again = await pseudonyms(*stores, HISTORY)

        assert groups(first) == same_person(HISTORY)
        assert sorted(map(len, groups(first))) == [2, 4]
        assert again == first
        assert all(who.startswith("person_") and len(who) == 23 for who in first.values())

    async def test_a_long_history_is_told_apart_as_by_comparing_all(
        self, stores: tuple[EventLog, KeyStore]
    ) -> None:
        history = long_history()
        await store(stores[0], history)

        who = await pseudonyms(*stores, history)

        assert groups(who) == same_person(history)
        assert {1, 2, 3} < set(map(len, groups(who)))
        for group in groups(who):
            async with identities(*stores) as people:
                assert set(await people.records_of(who[next(iter(group))])) == group
                held = await held_on(*stores, sorted(group))
            assert {r.name for r in held.records} == group

    async def test_all_records_of_one_person_are_told(
        self, stores: tuple[EventLog, KeyStore]
    ) -> None:
        await store(stores[0], HISTORY)
        names = [name for name, _ in names_of(HISTORY)]

        async with identities(*stores) as people:
            who = await people.of(names[:1])
            records = await people.records_of(who[names[0]])
            assert await people.records_of("person_0000000000000000") == []
            everybody = await people.of(names)

        assert set(records) == {name for name, of in everybody.items() if of == who[names[0]]}
        assert len(records) == 4

    async def test_somebody_whom_nobody_found_has_none(
        self, stores: tuple[EventLog, KeyStore]
    ) -> None:
        await store(stores[0], HISTORY)

        async with identities(*stores) as people:
            assert await people.of([]) == {}
            assert await people.of(["brand-none.1-aaaa#p1"]) == {}
            (name, _), *_ = names_of(HISTORY)
            assert await people.of([f"{name}9"]) == {}
            assert (await people.of([name])).keys() == {name}

    async def test_whoever_is_erased_while_others_are_asked_about_is_gone_at_once(
        self,
        stores: tuple[EventLog, KeyStore],
    ) -> None:
        await store(stores[0], HISTORY)
        names = [name for name, _ in names_of(HISTORY)]
        assert ADA.profile is not None

        async with identities(*stores) as people:
            before = await people.of(names)
            await erasure(*stores).erase_profile(ADA.profile)
            after = await people.of(names)

        theirs = [name for name, seen in names_of(HISTORY) if seen == BEN]
        assert after == {name: before[name] for name in theirs}

    async def test_a_later_lookup_is_told_apart_too(
        self, stores: tuple[EventLog, KeyStore]
    ) -> None:
        log, keys = stores
        await store(log, HISTORY[:1])
        later = names_of(HISTORY)

        async with identities(log, keys) as people:
            first = await people.of([later[0][0]])
            await store(log, HISTORY, stored=1)
            who = await people.of(name for name, _ in later)

        assert groups(who) == same_person(HISTORY)
        assert who[later[0][0]] == first[later[0][0]]
