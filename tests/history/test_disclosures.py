"""Which disclosures may hold somebody, held against what was really written by each."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import ContactsErased
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosedEvents
from cs.domain.person import PersonErased
from cs.eventlog.port import EventLog
from cs.history.disclosures import disclosures_of
from cs.history.history import History
from cs.history.identities import identities
from cs.history.lines import shown_events
from cs.history.selection import Selection
from cs.keystore.port import KeyStore
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from history.people import (
    AT,
    HISTORIES,
    PastLookup,
    Seen,
    erasure,
    names_of,
    opened_in,
    operator,
    store,
)

URLS = [f"https://www.linkedin.com/in/{x}" for x in "ab"]
STREAM = brand_stream(Query(brand="Acme"))
SELECTIONS = st.builds(
    Selection,
    types=st.sampled_from([(), (), ("people-found",), ("mailbox-verified", "key.issued")]),
    categories=st.sampled_from([(), (), ("brand",), ("key",)]),
    streams=st.sampled_from([(), (), (STREAM,)]),
    query=st.sampled_from([None, None, Query(brand="Zenith")]),
    lookup=st.sampled_from([None, None, lookup_id(STREAM, 1, "aaaa")]),
    since=st.sampled_from([None, None, AT + timedelta(days=1)]),
    until=st.sampled_from([None, None, AT + timedelta(days=2)]),
    after=st.sampled_from([0, 0, 3]),
    upto=st.sampled_from([None, None, 5]),
)


async def export(log: EventLog, keys: KeyStore, chosen: Selection) -> tuple[int, set[str]]:
    """Disclose as the command does; return the position of that, and who was opened."""
    head = await log.head()
    upto = head if chosen.upto is None else min(head, chosen.upto)
    position = await operator(log, "ada").disclose(
        "events export", "Ticket 4711 of today", chosen.asked(), upto=upto, file="a.ndjson"
    )
    shown: set[str] = set()
    async with identities(log, keys) as people:
        events = History(log).events(msgspec.structs.replace(chosen, upto=upto))
        for event in await shown_events([each async for each in events], people, keys):
            shown |= opened_in(event.data)
    return position, shown


def erased_by(event: AnyEvent) -> set[str]:
    if isinstance(event, PersonErased):
        return set(event.found_in)
    if isinstance(event, ContactsErased):
        return {f"{event.lookup}#{person}" for person in event.people}
    return set()


ACTS = st.just(Selection()) | SELECTIONS | st.sampled_from(URLS)


@settings(max_examples=settings().max_examples // 2)
@given(HISTORIES, st.lists(ACTS, min_size=1, max_size=6), st.data())
async def test_exactly_the_disclosures_that_hold_a_person_are_listed(
    history: Sequence[PastLookup], acts: list[Selection | str], data: st.DataObject
) -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    stored, written = 0, dict[int, set[str]]()
    for act in acts:  # lookups, disclosures and erasures in any order
        more = data.draw(st.sampled_from([len(history), *range(stored, len(history) + 1)]))
        await store(log, history[:more], stored)
        stored = more
        if isinstance(act, str):
            await erasure(log, keys).erase_profile(act)
        else:
            position, shown = await export(log, keys, act)
            written[position] = shown

    alive = await keys.find(name for name, _ in names_of(history))
    events = await log.tail(0, 1_000)
    for name, _ in names_of(history):
        found = {each.position for each in await disclosures_of(log, [name])}
        held = {position for position, shown in written.items() if name in shown}
        assert held <= found
        # A mailbox that is refused closes a record without an event: that errs on one side,
        # until an erasure says that it is closed.
        erased_at = [e.position for e in events if name in erased_by(e.event)]
        assert held == found or name not in alive
        assert all(position < at for position in found - held for at in erased_at)


JANE = Seen("Jane Roe", "Acme", "https://www.linkedin.com/in/jane-roe", "jane@acme.test")
JO = Seen("Jo Ode", "Acme", "https://www.linkedin.com/in/jo-ode")
HISTORY = [PastLookup("Acme", (JANE, JO)), PastLookup("Zenith", (JO, JO))]
IN_ACME, _, IN_ZENITH, _ = (name for name, _ in names_of(HISTORY))


@pytest.fixture
def stores() -> tuple[EventLog, KeyStore]:
    keys = MemoryKeyStore()
    return MemoryEventLog(keys), keys


async def test_disclosures_are_listed_with_account_and_reason(
    stores: tuple[EventLog, KeyStore],
) -> None:
    log, _ = stores
    await store(log, HISTORY)
    position, _ = await export(*stores, Selection(query=Query(brand="acme")))
    await export(*stores, Selection(types=("lookup-started",)))
    await export(*stores, Selection(upto=1))

    (one,) = await disclosures_of(log, [IN_ACME])

    assert (one.position, one.by, one.command) == (position, "ada", "events export")
    assert (one.why, one.file) == ("Ticket 4711 of today", "a.ndjson")
    assert (await log.stored(position - 1, 1))[0].stream == f"disclosure-{one.id}"
    assert await disclosures_of(log, [IN_ZENITH]) == []
    assert await disclosures_of(log, []) == []


async def test_a_disclosure_that_follows_may_hold_everyone_found_in_that_time(
    stores: tuple[EventLog, KeyStore],
) -> None:
    log, _ = stores
    disclosing = operator(log)
    asked = DisclosedEvents(categories=("brand",))
    for days in (0, 1):
        await disclosing.disclose(
            "events tail",
            "Ticket 4711 of today",
            asked,
            upto=None,
            open_until=AT + timedelta(days=days),
        )
    await store(log, HISTORY)

    assert [one.position for one in await disclosures_of(log, [IN_ACME])] == [1, 2]
    assert [one.position for one in await disclosures_of(log, [IN_ZENITH])] == [2]


async def test_what_names_people_holds_no_others(stores: tuple[EventLog, KeyStore]) -> None:
    log, _ = stores
    await store(log, HISTORY)
    disclosing = operator(log)
    asked = DisclosedEvents(people=(IN_ZENITH,))
    upto = await log.head()
    position = await disclosing.disclose(
        "people export", "She asked for it, ticket 1", asked, upto=upto
    )

    assert await disclosures_of(log, [IN_ACME]) == []
    assert [one.position for one in await disclosures_of(log, [IN_ZENITH])] == [position]


async def test_a_selection_of_a_newer_version_counts_as_all() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, HISTORY)
    disclosing = operator(log)
    asked = DisclosedEvents(types=("people-cloned",))
    position = await disclosing.disclose(
        "events export", "Ticket 4711 of today", asked, upto=await log.head()
    )

    found: Any = await disclosures_of(log, [IN_ACME])

    assert [each.position for each in found] == [position]
