"""The page of a search: its run step by step, and no person who is hidden."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace

from cs.domain.brand import brand as brands
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import BrandEvent, EraseContacts, LookupStarted, RetryDue
from cs.domain.causation import AnyCause, MessageCause, RequestCause, TimerCause
from cs.domain.contact import CheckedPerson, LeftOut
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import Line, Verdict
from cs.domain.stages.work import Failed, RankingDone, Resolved
from cs.eventlog.port import NO_STREAM, Append
from cs.history.history import History
from cs.history.pages import Section, page_html
from cs.history.redacting import redact_search, with_pseudonyms
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, search_at
from domain.acme_run import ACME, AT, HOME, QUERY, AcmeRun, checked, ranked, sighting
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

STREAM = brand_stream(QUERY)
CALL = RequestCause(id="req_1", key="key_1")
ANSWER = MessageCause(topic="t", id=f"{STREAM}.1/brand-resolution//2/result", attempt=2)


def with_conversation(check: CheckedPerson, said: str) -> CheckedPerson:
    (evidence,) = check.evidence
    lines = (
        Line(at_ms=31, who="C", text=f"RCPT TO:<{evidence.address}>"),
        Line(at_ms=44, who="S", text=f"250 {said}"),
    )
    return replace(check, evidence=(replace(evidence, conversation=lines),))


def a_run(said: str) -> AcmeRun:
    """Return a run that was tried twice and ended; outside texts have the word *said*."""
    run = AcmeRun(stream=STREAM)
    away = Failed(why="sources-away", retryable=True, causes={"wikidata": said})
    run.failed("brand-resolution", away)
    run.send(RetryDue(lookup=run.live.id, at=run.live.next_due))
    used = {"wikidata": "used"}
    found = Resolved(status="matched", brand=replace(ACME, name=said), sources=used)
    run.record("brand-resolution", found, attempt=2)
    run.discovered(*(sighting(f"{said} {n}", said) for n in ("Kern", "Ode", "Fell", "Roe")))
    left_out = (LeftOut("p3", "not-eligible"), LeftOut("p4", "other-company"))
    run.record("ranking", RankingDone((ranked("p1"), ranked("p2")), left_out=left_out))
    return run.verified(
        with_conversation(checked("p1", Verdict.DELIVERABLE), said),
        checked("p2", Verdict.UNDELIVERABLE),
    )


def cause_of(event: BrandEvent, n: int) -> AnyCause | None:
    if isinstance(event, LookupStarted) or n == 1:
        return CALL
    by_place: dict[int, AnyCause] = {3: TimerCause(timer="retry"), 4: ANSWER}
    return by_place.get(n)


async def shown(said: str, *, reveal: bool, upto: int | None = None) -> SearchAt:
    """Return a search as of *upto*, or of its end; a person was erased after that."""
    log, run = MemoryEventLog(MemoryKeyStore()), a_run(said)
    lookup = run.finish.lookup
    key = KeyIssued(at=AT, label="shop", quota=9, secret_hash="", last4="1234")
    admitted = SearchAdmitted(
        at=AT, search="srch_1", brand="Acme", query=QUERY, lookup=lookup, request="req_1"
    )
    await log.append([Append("key-key_1", NO_STREAM, (key, admitted), CALL)])
    for n, event in enumerate(run.events):
        await log.append([Append(STREAM, n - 1, (event,), cause_of(event, n))])
    settled = SearchSettled(
        at=run.at, search="srch_1", lookup=lookup, outcome="done", charged=True, cached=False
    )
    end = await log.append([Append("key-key_1", 1, (settled,))])
    erase = EraseContacts(
        lookup=lookup,
        people=("p4",),
        contacts=run.finish.contacts,
        at=AT + timedelta(hours=2, minutes=30),
    )
    await log.append([Append(STREAM, len(run.events) - 1, brands.decide(erase, run.state))])
    then = await search_at(History(log), "srch_1", "key_1", upto or end)
    assert then is not None
    if then.run is not None:
        names = {name: f"person_{n:016}" for n, name in enumerate(then.run.names())}
        then = replace(then, run=with_pseudonyms(then.run, names))
    return then if reveal else redact_search(then)


def html(search: SearchAt) -> bytes:
    return page_html(search_page(search))


def sections(search: SearchAt) -> Mapping[str, Section]:
    return {each.heading: each for each in search_page(search).sections}


async def test_attempts_are_drawn_on_the_time_of_the_run() -> None:
    search = await shown("Acme", reveal=False)
    run = search.run
    assert run is not None
    assert run.finished_at is not None
    drawn = sections(search)["Stages and attempts"]
    first, *later = drawn.bars

    (_, failed_at, failed), (waits_from, retried_at, waiting) = first.spans
    assert (failed, waiting) == ("failed", "waiting")
    assert failed_at == waits_from
    length = run.finished_at - run.started_at
    assert run.attempts[0].retry_at is not None
    waited = run.attempts[0].retry_at - run.started_at
    assert retried_at == pytest.approx(100 * (waited / length))
    assert {look for bar in later for *_, look in bar.spans} == {"answered"}
    assert all(0 <= start <= end <= 100 for bar in drawn.bars for start, end, _ in bar.spans)
    assert html(search).count(b"<rect ") == sum(len(bar.spans) for bar in drawn.bars)


async def test_attempts_are_listed_with_their_causes() -> None:
    search = await shown("Acme", reveal=False)
    assert search.run is not None
    told = sections(search)

    rows = [tuple(row) for row in told["Stages and attempts"].rows]
    assert [row[:2] + row[4:5] for row in rows] == [
        ("brand-resolution", "1", "failed, sources-away"),
        ("brand-resolution", "2", "answered"),
        ("contact-discovery", "1", "answered"),
        ("ranking", "1", "answered"),
        (f"verification {HOME}", "1", "answered"),
    ]
    assert rows[0][5] == "call req_1"
    assert rows[1][5:] == ("timer: retry", "message result, attempt 2")
    assert [tuple(row[2:4]) for row in told["Sources and verifiers asked"].rows] == [
        ("wikidata", "used")
    ]
    assert [(p.person, p.why) for p in search.run.people] == [
        ("p1", "verified"),
        ("p2", "not-verified"),
        ("p3", "not-eligible"),
        ("p4", "other-company"),
    ]
    assert dict(told["The search"].facts)["Asked by"] == "call req_1"


async def test_a_run_is_shown_as_far_as_it_had_come() -> None:
    last = 3 + len(a_run("Acme").events)
    for upto in range(2, last + 1):
        before = await shown("Acme", reveal=False, upto=upto)

        assert html(before).endswith(b"</html>")
        if before.run is not None:
            assert (before.run.finished_at is None) == (upto < last - 1)
            assert all(attempt.position <= upto for attempt in before.run.attempts)
            assert all(p.position <= upto for p in before.run.people)


async def test_it_says_that_people_were_erased_since() -> None:
    now = await shown("Acme", reveal=False)

    assert [(each.people, each.aged_out) for each in now.erased_since] == [(1, False)]
    assert b"who were erased since, on 2026-01-01T02:30:00Z (position" in html(now)


async def test_sealed_it_names_nobody() -> None:
    word = "Xyzzyword"
    sealed = html(await shown(word, reveal=False)).decode()
    clear = html(await shown(word, reveal=True)).decode()

    assert f"p1@{HOME}" not in sealed
    assert "RCPT TO:&lt;(hidden)&gt;" in sealed
    # The name of a brand and the failure of a source are open; people are not.
    people = sealed[sealed.index(">People considered</h2>") :]
    assert word not in people
    assert f"{word} Kern" in clear
    assert f"{STREAM}.1#p1" not in sealed
    assert "person_0000000000000000" in sealed
