"""A lookup is driven on by outcomes, the log, timers, silence, and a start again."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    LookupFinished,
    StageIssued,
)
from cs.domain.causation import EventCause, MessageCause, StartCause, TimerCause
from cs.domain.key import SearchSettled
from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.domain.mail_domain import DomainLearned
from cs.domain.stages.work import (
    Alive,
    Discovered,
    DomainVerified,
    Failed,
    RankingDone,
    Resolved,
    VerificationInput,
)
from domain.acme_run import (
    ADA,
    AT_TWO_DOMAINS,
    BEN,
    HOME,
    PARENT,
    RESOLVED,
    STREAM,
    checked,
    ranked,
)
from pipeline.loop import LOOKUP, FailingLog, Loop

NO_MATCH = Resolved(status="no_match")
AWAY = Failed(why="sources-away", retryable=True, retry_in_s=10)


#: Documented in docs/topics.md: work without a sign of life for so long is issued again.
SILENCE_S = 20


@pytest.fixture
async def loop(request: pytest.FixtureRequest) -> AsyncIterator[Loop]:
    loop = Loop(getattr(request, "param", FailingLog)())
    await loop.key("a")
    yield loop
    await loop.views.close()


async def verify(loop: Loop) -> None:
    """Bring the run to verification at the first of two mail domains."""
    await loop.say("brand-resolution", Resolved(status="matched", brand=AT_TWO_DOMAINS))
    await loop.say("contact-discovery", Discovered(people=(ADA, BEN)))
    await loop.say("ranking", RankingDone((ranked("p1"), ranked("p2"))))
    await loop.event(StageIssued, 4)


# A run.


async def test_outcomes_bring_a_run_to_its_end_and_settle_waiting_searches(loop: Loop) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.search("s1", "a")
        await verify(loop)
        for domain, verdict in ((HOME, Verdict.UNDELIVERABLE), (PARENT, Verdict.DELIVERABLE)):
            found = DomainVerified((checked("p1", verdict, at=domain),))
            await loop.say("verification", found, item=domain)

        settled = await loop.event(SearchSettled)

    finished = (await loop.log.read(STREAM))[-1]
    message = f"{LOOKUP}/verification/{PARENT}/1/domain-verified"
    assert finished.caused_by == MessageCause(topic="cs.outcomes.v1", id=message, attempt=1)
    assert (await loop.log.read("key-a"))[-1].caused_by == EventCause(
        position=finished.position
    )
    assert (settled.search, settled.lookup) == ("s1", LOOKUP)
    assert (settled.outcome, settled.charged, settled.cached) == ("done", True, False)


async def test_what_is_known_of_a_mail_domain_goes_with_the_next_run_s_work(
    loop: Loop,
) -> None:
    facts = DomainFacts(catch_all=False, pattern="first.last")
    async with loop.process_manager():
        await loop.start()
        await verify(loop)
        await loop.say("verification", DomainVerified((), facts), item=HOME)
        await loop.event(DomainLearned)
        await loop.say("verification", DomainVerified(()), item=PARENT)
        await loop.event(LookupFinished)
        await loop.start()
        lookup = LOOKUP.replace(".1", ".2")
        await loop.say(
            "brand-resolution", Resolved(status="matched", brand=AT_TWO_DOMAINS), lookup=lookup
        )
        await loop.say("contact-discovery", Discovered(people=(ADA,)), lookup=lookup)
        await loop.say("ranking", RankingDone((ranked("p1"),)), lookup=lookup)
        issued = await loop.event(StageIssued, 9)

    assert issued.item == HOME
    assert isinstance(issued.input, VerificationInput)
    assert issued.input.known == facts


# Timers.


async def test_a_retry_is_issued_when_it_is_due_and_not_before(loop: Loop) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.say("brand-resolution", AWAY)
        failed = await loop.event(AttemptFailed)
        loop.passes(9.999)
        await loop.caught_up()
        assert await loop.issued() == [1]

        loop.passes(0.001)
        await loop.attempt(2)

    issued = (await loop.log.read(STREAM))[-1]
    assert (issued.event.at, issued.caused_by) == (failed.retry_at, TimerCause(timer="retry"))


async def test_an_earlier_timer_overtakes_a_later_one(loop: Loop) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.event(StageIssued)  # its deadline is waited for by now
        await loop.say("brand-resolution", AWAY)
        await loop.event(AttemptFailed)
        loop.passes(10)

        assert (await loop.event(StageIssued, 2)).attempt == 2
        loop.passes(110)
        assert (await loop.event(LookupFinished)).outcome == "timeout"


# Silence.


async def test_silent_work_is_issued_again_twice_and_no_more(
    loop: Loop,
) -> None:
    async with loop.process_manager():
        await loop.start()
        for attempt in (1, 2):
            await loop.caught_up()
            loop.passes(SILENCE_S + 0.1)
            await loop.attempt(attempt + 1)
        await loop.start(stream="brand-witness")
        await loop.caught_up()
        loop.passes(SILENCE_S + 0.1)
        await loop.attempt(2, "brand-witness")

        assert await loop.issued() == [1, 2, 3]
        assert (await loop.log.read(STREAM))[-1].caused_by == TimerCause(timer="silence")


async def test_a_heartbeat_keeps_the_work_in_flight(loop: Loop) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.start(stream="brand-witness")
        for _ in range(2):
            await loop.caught_up()
            loop.passes(SILENCE_S - 1)
            await loop.say("brand-resolution", Alive())
        await loop.attempt(2, "brand-witness")

        assert await loop.issued() == [1]


# A start again.


async def test_a_start_issues_again_what_was_in_flight(loop: Loop) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.search("s1", "a")
        await loop.say("brand-resolution", RESOLVED)
        await loop.event(StageIssued, 2)

    async with loop.process_manager():
        again = await loop.event(StageIssued, 3)
        assert (again.stage, again.attempt) == ("contact-discovery", 2)
        assert (await loop.log.read(STREAM))[-1].caused_by == StartCause()
        await loop.say("contact-discovery", Discovered(people=()), attempt=2)
        settled = await loop.event(SearchSettled)

    assert settled.outcome == "no_contacts"


async def test_a_start_where_the_bus_remembers_issues_nothing(loop: Loop) -> None:
    await loop.start()

    async with loop.process_manager(restart_work=False):
        await loop.say("brand-resolution", NO_MATCH)
        await loop.event(LookupFinished)

    assert len(await loop.events(StageIssued)) == 1


async def test_a_run_that_waits_for_a_retry_over_a_start_still_has_its_deadline(
    loop: Loop,
) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.search("s1", "a")
        await loop.say("brand-resolution", AWAY)
        await loop.event(AttemptFailed)

    async with loop.process_manager():
        loop.passes(10)
        assert (await loop.event(StageIssued, 2)).attempt == 2
        loop.passes(110)
        settled = await loop.event(SearchSettled)

    assert settled.outcome == "timeout"


async def test_a_deadline_that_passed_during_downtime_ends_the_run_at_the_start(
    loop: Loop,
) -> None:
    await loop.start()
    await loop.search("s1", "a")
    loop.passes(3_600)

    async with loop.process_manager():
        assert (await loop.event(SearchSettled)).outcome == "timeout"


async def test_an_unsettled_finish_is_settled_at_the_start(loop: Loop) -> None:
    await loop.start()
    await loop.search("s1", "a")
    async with loop.process_manager():
        await loop.say("brand-resolution", NO_MATCH)
        await loop.event(SearchSettled)
    await loop.search("s2", "a")  # joined just after the finish, and nobody ran

    async with loop.process_manager():
        settled = await loop.event(SearchSettled, 2)

    assert (settled.search, settled.outcome, settled.cached) == ("s2", "no_linkedin", False)


async def test_a_join_to_a_run_that_ended_long_ago_is_settled_from_the_log(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.pipeline.lookups.PAGE", 3)
    async with loop.process_manager():
        for number in range(1, 8):
            await loop.start()
            lookup = LOOKUP.replace(".1", f".{number}")
            await loop.say("brand-resolution", NO_MATCH, lookup=lookup)
            await loop.event(LookupFinished, number)
        await loop.search("late", "a", LOOKUP)
        settled = await loop.event(SearchSettled)
        third = LOOKUP.replace(".1", ".3")
        await loop.search("later", "a", third)
        again = await loop.event(SearchSettled, 2)

    assert (settled.search, settled.lookup) == ("late", LOOKUP)
    assert (again.search, again.lookup) == ("later", third)


async def test_two_process_managers_settle_and_issue_once(loop: Loop) -> None:
    async with loop.process_manager(), loop.process_manager():
        await loop.start()
        await loop.search("s1", "a")
        await loop.say("brand-resolution", AWAY)
        await loop.event(AttemptFailed)
        loop.passes(10)
        await loop.event(StageIssued, 2)
        await loop.say("brand-resolution", NO_MATCH, attempt=2)
        await loop.event(SearchSettled)

    assert [e.attempt for e in await loop.events(StageIssued)] == [1, 2]
    assert len(await loop.events(LookupFinished)) == 1
    assert len(await loop.events(SearchSettled)) == 1


# A log that is away.


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("stored", [False, True])
async def test_progress_and_settlement_wait_for_the_log_and_are_stored_once(
    loop: Loop, *, stored: bool
) -> None:
    assert isinstance(loop.log, FailingLog)
    async with loop.process_manager():
        await loop.start()
        await loop.search("s1", "a")
        await loop.event(StageIssued)
        loop.log.unavailable(3, stored=stored)
        await loop.say("brand-resolution", NO_MATCH)
        await loop.event(LookupFinished)
        loop.log.unavailable(3, stored=stored)
        await loop.event(SearchSettled)
        loop.log.unavailable(0, stored=stored)
        await loop.search("s2", "a")
        await loop.event(SearchSettled, 2)

    settled = [e.search for e in await loop.events(SearchSettled)]
    assert settled == ["s1", "s2"]
    assert len(await loop.events(LookupFinished)) == 1


async def test_a_key_that_hangs_holds_up_no_other_settlement(loop: Loop) -> None:
    assert isinstance(loop.log, FailingLog)
    slow, quick = "brand-slow", "brand-quick"
    async with loop.process_manager():
        for brand in (slow, quick):
            await loop.key(brand)
            await loop.start(stream=brand)
            await loop.search(f"s-{brand}", brand, f"{brand}.1")
        loop.log.holds = (f"key-{slow}",)
        await loop.say("brand-resolution", NO_MATCH, lookup=f"{slow}.1")
        assert await loop.log.held.get() == f"key-{slow}"
        await loop.say("brand-resolution", NO_MATCH, lookup=f"{quick}.1")
        settled = await loop.event(SearchSettled)
        assert settled.search == f"s-{quick}"

        loop.log.released.set()
        await loop.event(SearchSettled, 2)


async def test_a_run_that_starts_ends_and_is_joined_in_one_page_is_settled(
    loop: Loop,
) -> None:
    async with loop.process_manager():
        await loop.start()
        await loop.search("s1", "a")
        await loop.say("brand-resolution", NO_MATCH)
        await loop.event(SearchSettled)
    await loop.search("late", "a")

    async with loop.running(loop.drive()):
        settled = await loop.event(SearchSettled, 2)

    assert settled.search == "late"


# Why sources could not answer.


async def test_causes_of_a_stage_of_anybody_are_stored_without_people(
    loop: Loop,
) -> None:
    causes = {"web": "'Jane Doe' at https://x.test/in/jane,\nfor jane@acme.test"}
    kept = {"web": "[…] at https://x.test/… for [mailbox]"}
    async with loop.process_manager():
        await loop.start()
        await loop.say("brand-resolution", replace(AWAY, causes=causes))
        failed = await loop.event(AttemptFailed)
        loop.passes(10)
        await loop.attempt(2)
        await loop.say("brand-resolution", replace(RESOLVED, causes=causes), attempt=2)
        resolved = await loop.event(BrandResolved)
        await loop.say("contact-discovery", Discovered(people=(ADA,), causes=causes))
        discovered = await loop.event(ContactsDiscovered)

    assert failed.causes == resolved.causes == discovered.causes == kept
