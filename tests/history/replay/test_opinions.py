"""Opinions in the log: sealed, ranked with again, gone with the person, shown as evidence."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupStarted,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, Opinion, Person, Query
from cs.domain.ranking import rank
from cs.domain.rule_sets import RANKING
from cs.eventlog.port import NO_STREAM, Append
from cs.history.redacting import HIDDEN, redact
from cs.history.replay.replaying import Difference, Replay
from cs.history.replay.rules import Rules, load_rules
from cs.history.runs import runs
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

AT = datetime(2026, 11, 1, tzinfo=UTC)
QUERY = Query(brand="Acme")
STREAM = brand_stream(QUERY)
LOOKUP = lookup_id(STREAM, 1, "aaaa")
ACME = BrandFacts(name="Acme", domain="acme.test", mail_domains=("acme.test",))
PEOPLE = (
    Person(person="p1", full_name="Ada Kern", headline="Head of Brand at Acme"),
    Person(person="p2", full_name="Jo Lane", headline="Zorbification Manager at Acme"),
)
OPINION = Opinion(
    person="p2",
    doubts=("no-family",),
    family="social",
    level="manager",
    title="Zorbification Manager",
    company="Acme",
    model="small-model",
    prompt="headline-opinion-1",
)
#: Rules that do with opinions as today's do, and rules that leave them out.
WITH = """
from cs.domain.ranking import rank as todays
def rank(brand, people, limit, opinions):
    return todays(brand, people, limit=limit, opinions=opinions)
"""
WITHOUT = """
from cs.domain.ranking import rank as todays
def rank(brand, people, limit, opinions):
    return todays(brand, people, limit=limit)
"""


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
async def log(keys: MemoryKeyStore) -> MemoryEventLog:
    log = MemoryEventLog(keys)
    ranked, left_out = rank(ACME, PEOPLE, opinions=(OPINION,))
    events: list[AnyEvent] = [
        LookupStarted(
            at=AT,
            lookup=LOOKUP,
            number=1,
            query=QUERY,
            deadline_at=AT + timedelta(minutes=2),
        ),
        BrandResolved(at=AT, lookup=LOOKUP, status="matched", brand=ACME),
        ContactsDiscovered(at=AT, lookup=LOOKUP, people=PEOPLE, conclusive=True),
        ContactsRanked(
            at=AT,
            lookup=LOOKUP,
            ranked=ranked,
            left_out=left_out,
            rules=RANKING,
            opinions=(OPINION,),
        ),
    ]
    await log.append([Append(STREAM, NO_STREAM, events)])
    return log


async def changes(
    log: MemoryEventLog, keys: MemoryKeyStore, rules: Rules
) -> list[tuple[str, str | None]]:
    replay = Replay(log, keys, "ranking", rules)
    found = [each async for part in replay.differences() for each in part]
    return [(each.change, each.person) for each in found if isinstance(each, Difference)]


async def test_people_are_ranked_again_with_the_opinion_of_then(
    log: MemoryEventLog, keys: MemoryKeyStore, tmp_path: Path
) -> None:
    rules = [Rules()]
    for name, text in (("with.py", WITH), ("without.py", WITHOUT)):
        (tmp_path / name).write_text(text)
        rules.append(load_rules(tmp_path / name))

    same, with_opinions, without = [await changes(log, keys, each) for each in rules]

    assert same == with_opinions == []
    assert without == [("lost", f"{LOOKUP}#p2")]


async def test_what_it_says_is_sealed_and_gone_with_the_person(
    log: MemoryEventLog, keys: MemoryKeyStore
) -> None:
    *_, stored = await log.stored(0)
    assert b"Zorbification" not in stored.state

    await keys.destroy([f"{LOOKUP}#p2"])

    *_, last = await log.tail(0)
    assert isinstance(last.event, ContactsRanked)
    assert last.event.opinions == (Opinion(person="p2", family="other", level="unknown"),)
    assert await changes(log, keys, Rules()) == []


async def test_it_is_shown_with_its_words_only_where_people_are_revealed(
    log: MemoryEventLog,
) -> None:
    (run,) = runs(await log.tail(0))
    for reveal in (False, True):
        people = {p.person: p for p in (run if reveal else redact(run)).people}
        said = people["p2"].opinion
        assert said is not None
        assert (said.doubts, said.family, said.model) == (
            ("no-family",),
            "social",
            "small-model",
        )
        assert said.title == ("Zorbification Manager" if reveal else HIDDEN)
        assert people["p1"].opinion is None
