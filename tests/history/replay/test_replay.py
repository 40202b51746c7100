"""A replay, held against comparing every lookup of a history by hand."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.events import BrandResolved, ContactsDiscovered, ContactsRanked
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import EventLog
from cs.history.replay import replaying
from cs.history.replay.charges import charge_differences
from cs.history.replay.difference import AnswerDifference, Totals
from cs.history.replay.loading import opened_rules
from cs.history.replay.recorded import Kind
from cs.history.replay.replaying import ComparedBrand, Replay, brand_streams, chunks
from cs.history.replay.rules import TODAY, Rules
from cs.keystore.memory import MemoryKeyStore
from cs.keystore.port import KeyStore
from cs.settings import Settings
from history.recorded_answers import (
    InDatabases,
    InFolder,
    InMemory,
    Place,
    Stores,
    live_long,
    lived,
)
from history.replay.made_up import HISTORIES, REPLIES, STRICTER, Looked, Stored, store
from system.older_keys.forms import on_new_databases

KINDS: tuple[Kind, ...] = ("ranking", "verdicts", "resolution")


@pytest.fixture(scope="module")
def stricter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "stricter.py"
    path.write_text(STRICTER)
    return path


async def replay(
    log: EventLog, keys: KeyStore, kind: Kind, rules: Rules, *, reveals: bool = False
) -> list[ComparedBrand]:
    upto = await log.head()
    running = Replay(log, keys, kind, rules=rules, reveals=reveals)
    found: list[ComparedBrand] = []
    for chunk in chunks(await brand_streams(log, kind, upto)):
        found += await running.compare(chunk)
    return found


def differences(brands: Sequence[ComparedBrand]) -> list[AnswerDifference]:
    return [each for brand in brands for each in brand.differences]


def summed(brands: Sequence[ComparedBrand]) -> Totals:
    every = Totals()
    for brand in brands:
        every.add(brand.totals)
    return every


async def charges(log: EventLog, brands: Sequence[ComparedBrand]) -> set[tuple[str, str]]:
    affected = {name: each for brand in brands for name, each in brand.affected.items()}
    found = charge_differences(log, affected, await log.head())
    return {(charge.search, charge.change) async for _, charge in found}


async def made(history: list[Looked]) -> tuple[EventLog, KeyStore, Stored]:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    return log, keys, await store(log, keys, history)


@given(HISTORIES, st.integers(1, 3))
async def test_the_rules_that_wrote_a_history_say_the_same_of_all_of_it(
    history: list[Looked], at_once: int
) -> None:
    log, keys, _ = await made(history)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replaying, "BRANDS", at_once)
        for kind in KINDS:
            found = await replay(log, keys, kind, TODAY)

            assert differences(found) == []
            assert await charges(log, found) == set()
            assert summed(found).lookups == len(history)


# By hand: what stricter rules would have done to a lookup, from what it found.
async def by_hand_ranking(log: EventLog, stored: Stored) -> tuple[set[Any], set[Any]]:
    changes: set[Any] = set()
    searches: set[Any] = set()
    events = [recorded.event for recorded in await log.tail(0, 10_000)]
    for lookup, looked in stored.lookups.items():
        [ranking] = (
            event
            for event in events
            if isinstance(event, ContactsRanked) and event.lookup == lookup
        )
        [discovered] = (
            event
            for event in events
            if isinstance(event, ContactsDiscovered) and event.lookup == lookup
        )
        alive = [p.person for p in discovered.people if p.full_name]
        before = [each.person for each in ranking.ranked if each.person in alive]
        erased = len(ranking.ranked) - len(before)
        room = max(looked.limit - erased, 0)
        wanted = ("Influencer Marketing", "Social Media")
        able = [
            (person, looked.people[int(person[1:]) - 1].headline)
            for person in alive
            if any(word in looked.people[int(person[1:]) - 1].headline for word in wanted)
        ]
        able = [(person, headline) for person, headline in able if "Elsewhere" not in headline]
        order = ["Head of Influencer", "Influencer Marketing", "Social Media"]
        able.sort(
            key=lambda one: (
                next(n for n, word in enumerate(order) if word in one[1]),
                int(one[0][1:]),
            )
        )
        after = [person for person, _ in able][:room]
        changes |= {(lookup, person, "lost") for person in set(before) - set(after)}
        changes |= {(lookup, person, "gained") for person in set(after) - set(before)}
        yes = {f"p{n}" for n, seen in enumerate(looked.people, 1) if REPLIES[seen.reply]} & {
            each.person for each in ranking.ranked
        }
        charged = bool(yes)
        # Who is erased stays as they were.
        still = bool(yes & set(after)) or bool(yes - set(alive))
        unasked = set(after) - set(before)
        if charged and not still:
            searches |= {(lookup, "open" if unasked else "lost")}
        if not charged and unasked:
            searches |= {(lookup, "open")}
    return changes, searches


@given(HISTORIES)
async def test_a_stricter_ranking_loses_and_gains_what_it_does_by_hand(
    stricter: Path, history: list[Looked]
) -> None:
    log, keys, stored = await made(history)
    changes, affected = await by_hand_ranking(log, stored)

    with opened_rules(str(stricter)) as rules:
        found = await replay(log, keys, "ranking", rules)

    told = {
        (each.lookup, str(each.person).rpartition("#")[2], each.change)
        for each in differences(found)
    }
    assert told == changes
    assert {
        (lookup, each.effect.change)
        for brand in found
        for lookup, each in brand.affected.items()
    } == affected
    searches = {search.rpartition("_")[0] for search, _ in await charges(log, found)}
    assert searches == {
        f"srch_{lookup[-8:]}_{lookup[6:10]}"
        for lookup, _ in affected
        if stored.lookups[lookup].searches
    }


@given(HISTORIES)
async def test_stricter_reading_loses_exactly_who_was_accepted_for_now(
    stricter: Path, history: list[Looked]
) -> None:
    log, keys, stored = await made(history)

    with opened_rules(str(stricter)) as rules:
        found = await replay(log, keys, "verdicts", rules)

    events = [recorded.event for recorded in await log.tail(0, 10_000)]
    lost, not_charged = set[str](), set[str]()
    for event in events:
        if not isinstance(event, ContactsRanked):
            continue
        people = stored.lookups[event.lookup].people
        yes, no_more = set[str](), set[str]()
        for each in event.ranked:
            seen = people[int(each.person[1:]) - 1]
            if REPLIES[seen.reply]:
                yes.add(each.person)
                if "for now" in seen.reply and not seen.erased:
                    no_more.add(each.person)
        lost |= {f"{event.lookup}#{person}" for person in no_more}
        if yes and yes == no_more:
            not_charged |= {event.lookup}
    assert {(each.person, each.change) for each in differences(found)} == {
        (person, "lost") for person in lost
    }
    for told in differences(found):
        assert (told.was.verdict, told.would_be.verdict) == ("deliverable", "unknown")
        assert told.would_be.reasons == ("for-now",)
    effects = {(n, each.effect.change) for b in found for n, each in b.affected.items()}
    assert effects == {(lookup, "lost") for lookup in not_charged}
    assert len(await charges(log, found)) == sum(
        len(stored.lookups[lookup].searches) for lookup in not_charged
    )


@given(HISTORIES)
async def test_stricter_resolution_loses_exactly_the_unsure_of_what_is_recorded(
    stricter: Path, history: list[Looked]
) -> None:
    log, keys, stored = await made(history)

    with opened_rules(str(stricter)) as rules:
        found = await replay(log, keys, "resolution", rules)

    unsure = {
        lookup
        for lookup, looked in stored.lookups.items()
        if looked.named and looked.score < 0.9
    }
    assert {(each.lookup, each.change) for each in differences(found)} == {
        (lookup, "lost") for lookup in unsure
    }
    missing = sum(not looked.named for looked in history)
    every = summed(found)
    assert every.replayed == len(history) - missing
    why = "the brands that sources named were not recorded"
    assert every.not_replayed == ({why: missing} if missing else {})
    events = [recorded.event for recorded in await log.tail(0, 10_000)]
    assert sum(isinstance(event, BrandResolved) for event in events) == every.lookups


@given(HISTORIES)
async def test_nobody_is_named_unless_people_are_revealed_and_who_is_erased_never(
    stricter: Path, history: list[Looked]
) -> None:
    log, keys, stored = await made(history)
    erased = {
        f"{lookup}#p{n}"
        for lookup, looked in stored.lookups.items()
        for n, seen in enumerate(looked.people, 1)
        if seen.erased
    }

    with opened_rules(str(stricter)) as rules:
        for kind in ("ranking", "verdicts"):
            sealed = differences(await replay(log, keys, kind, rules))
            shown = differences(await replay(log, keys, kind, rules, reveals=True))

            assert not {each.person for each in sealed} & erased
            assert [each.person for each in shown] == [each.person for each in sealed]
            assert "Jo " not in str(sealed)
            assert "p1@" not in str(sealed)
            for each in shown:
                person = str(each.person).rpartition("#")[2]
                if kind == "ranking":
                    assert each.name == f"Jo {'abcdefgh'[int(person[1:])]}"
                else:
                    assert each.was.address.startswith(f"{person}@")


# Through the real service.
async def databases(postgres: str, folder: Path) -> AsyncIterator[Settings]:
    async with on_new_databases(postgres, folder) as on:
        yield on.settings


class StoreCases:
    @pytest.mark.slow
    async def test_todays_rules_say_what_the_service_said_all_its_life(
        self, place: Place
    ) -> None:
        async with lived(place) as lifetime:
            await lifetime.ask(0, "Acme")
            await lifetime.ask(0, "Zenith")

            assert all([await same_again(lifetime.stores, kind) for kind in KINDS])
            await live_long(lifetime)  # and all whose mailboxes were checked are erased
            answers = [await same_again(lifetime.stores, kind) for kind in KINDS]

            assert answers == [5, 0, 6]


async def same_again(stores: Stores, kind: Kind) -> int:
    """Run *kind* again by today's rules, which say the same; return of how many answers."""
    head = await stores.log.head()

    found = await replay(stores.log, stores.keys, kind, TODAY)

    assert differences(found) == []
    assert await charges(stores.log, found) == set()
    assert await stores.log.head() == head, "nothing is written"
    return summed(found).answers


class TestInMemory(StoreCases):
    @pytest.fixture
    def place(self) -> Place:
        return InMemory()


class TestInAFolder(StoreCases):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return InFolder(tmp_path / "data")


class TestInDatabases(StoreCases):
    @pytest.fixture
    async def place(self, postgres: str, tmp_path: Path) -> AsyncIterator[Place]:
        async for settings_ in databases(postgres, tmp_path):
            yield InDatabases(settings_)


def test_a_brand_is_never_divided_and_portions_are_bounded() -> None:
    numbers = [1] * 200 + [5_000, 3, 1_190, 20]
    streams = {f"brand-{n}": range(number) for n, number in enumerate(numbers)}

    found = list(chunks(streams))

    assert [stream for chunk in found for stream in chunk.streams] == list(streams)
    assert all(len(chunk.streams) <= replaying.BRANDS for chunk in found)
    for chunk in found:
        number = sum(len(streams[stream]) for stream in chunk.streams)
        assert number == len(chunk.positions)
        assert number <= replaying.EVENTS or len(chunk.streams) == 1
