"""What drives a lookup on: outcomes, the log, timers, silence, and a start again."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from cs.bus.topics import OUTCOMES
from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    LookupFinished,
    PeopleFound,
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
    PeopleSeen,
    RankingDone,
    Resolved,
    VerificationInput,
)
from cs.eventlog.follow import follow
from cs.eventlog.port import Append, Ceiling, LogUnavailable
from cs.pipeline.heartbeats import SILENCE_S
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
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.managed import LOOKUP, Managed

NO_MATCH = Resolved(status="no_match")
AWAY = Failed(why="sources-away", retryable=True, retry_in_s=10)


@pytest.fixture
async def managed() -> AsyncIterator[Managed]:
    managed = Managed()
    await managed.key("a")
    yield managed
    await managed.views.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for a log that is back without waiting long."""
    monkeypatch.setattr("cs.eventlog.follow.RETRY_S", 0.001)


async def verify(managed: Managed) -> None:
    """Bring the run to verification at the first of two mail domains."""
    await managed.say("brand-resolution", Resolved(status="matched", brand=AT_TWO_DOMAINS))
    await managed.say("contact-discovery", Discovered(people=(ADA, BEN)))
    await managed.say("ranking", RankingDone((ranked("p1"), ranked("p2"))))
    await managed.event(StageIssued, 4)


# A run.


async def test_outcomes_bring_a_run_to_its_end_and_settle_who_waits(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await verify(managed)
        for domain, verdict in ((HOME, Verdict.UNDELIVERABLE), (PARENT, Verdict.DELIVERABLE)):
            found = DomainVerified((checked("p1", verdict, at=domain),))
            await managed.say("verification", found, item=domain)

        settled = await managed.event(SearchSettled)

    finished = (await managed.log.read(STREAM))[-1]
    message = f"{LOOKUP}/verification/{PARENT}/1/domain-verified"
    assert finished.caused_by == MessageCause(topic=OUTCOMES, id=message, attempt=1)
    assert (await managed.log.read("key-a"))[-1].caused_by == EventCause(
        position=finished.position
    )
    assert (settled.search, settled.lookup) == ("s1", LOOKUP)
    assert (settled.outcome, settled.charged, settled.cached) == ("done", True, False)


async def test_what_is_said_twice_is_stored_once(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        for _ in range(3):
            await managed.say("brand-resolution", RESOLVED)
        for _ in range(3):
            await managed.say("contact-discovery", PeopleSeen((ADA,)))
        await managed.say("contact-discovery", Discovered(people=(ADA,)))
        await managed.event(StageIssued, 3)

    assert len(await managed.events(BrandResolved)) == 1
    assert len(await managed.events(PeopleFound)) == 1


async def test_what_is_known_of_a_mail_domain_goes_with_the_next_run_s_work(
    managed: Managed,
) -> None:
    facts = DomainFacts(catch_all=False, pattern="first.last")
    async with managed.running():
        await managed.start()
        await verify(managed)
        await managed.say("verification", DomainVerified((), facts), item=HOME)
        await managed.event(DomainLearned)
        await managed.say("verification", DomainVerified(()), item=PARENT)
        await managed.event(LookupFinished)
        await managed.start()
        lookup = LOOKUP.replace(".1", ".2")
        await managed.say(
            "brand-resolution", Resolved(status="matched", brand=AT_TWO_DOMAINS), lookup=lookup
        )
        await managed.say("contact-discovery", Discovered(people=(ADA,)), lookup=lookup)
        await managed.say("ranking", RankingDone((ranked("p1"),)), lookup=lookup)
        issued = await managed.event(StageIssued, 9)

    assert issued.item == HOME
    assert isinstance(issued.input, VerificationInput)
    assert issued.input.known == facts


# Timers.


async def test_a_retry_is_issued_when_it_is_due_and_not_before(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.say("brand-resolution", AWAY)
        failed = await managed.event(AttemptFailed)
        managed.passes(9.999)
        await managed.caught_up()
        assert await managed.issued() == [1]

        managed.passes(0.001)
        await _attempt(managed, STREAM, 2)

    issued = (await managed.log.read(STREAM))[-1]
    assert (issued.event.at, issued.caused_by) == (failed.retry_at, TimerCause(timer="retry"))


async def test_the_deadline_ends_a_run_that_hangs(managed: Managed) -> None:
    async with managed.running():
        await managed.start(deadline_s=30)
        await managed.search("s1", "a")
        await managed.event(StageIssued)
        managed.passes(30)

        settled = await managed.event(SearchSettled)

    assert settled.outcome == "timeout"
    finished = (await managed.log.read(STREAM))[-1]
    assert finished.caused_by == TimerCause(timer="deadline")


async def test_an_earlier_timer_overtakes_a_later_one(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.event(StageIssued)  # its deadline is waited for by now
        await managed.say("brand-resolution", AWAY)
        await managed.event(AttemptFailed)
        managed.passes(10)

        assert (await managed.event(StageIssued, 2)).attempt == 2
        managed.passes(110)
        assert (await managed.event(LookupFinished)).outcome == "timeout"


# Silence.


async def test_work_nobody_speaks_of_is_issued_again_twice_and_no_more(
    managed: Managed,
) -> None:
    async with managed.running():
        await managed.start()
        for attempt in (1, 2):
            await managed.caught_up()
            managed.passes(SILENCE_S + 0.1)
            await _attempt(managed, STREAM, attempt + 1)
        await managed.start(stream="brand-witness")
        await managed.caught_up()
        managed.passes(SILENCE_S + 0.1)
        await _attempt(managed, "brand-witness", 2)

        assert await managed.issued() == [1, 2, 3]
        assert (await managed.log.read(STREAM))[-1].caused_by == TimerCause(timer="silence")


async def test_a_heartbeat_keeps_the_work_in_flight(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.start(stream="brand-witness")
        for _ in range(2):
            await managed.caught_up()
            managed.passes(SILENCE_S - 1)
            await managed.say("brand-resolution", Alive())
        await _attempt(managed, "brand-witness", 2)

        assert await managed.issued() == [1]


async def _attempt(managed: Managed, stream: str, attempt: int) -> None:
    """Wait until *attempt* is issued in *stream*."""
    async with asyncio.timeout(10):
        async for _ in follow(managed.log, 0):
            if attempt in await managed.issued(stream):
                return


# A start again.


async def test_a_start_issues_again_what_was_in_flight(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", RESOLVED)
        await managed.event(StageIssued, 2)

    async with managed.running():
        again = await managed.event(StageIssued, 3)
        assert (again.stage, again.attempt) == ("contact-discovery", 2)
        assert (await managed.log.read(STREAM))[-1].caused_by == StartCause()
        await managed.say("contact-discovery", Discovered(people=()), attempt=2)
        settled = await managed.event(SearchSettled)

    assert settled.outcome == "no_contacts"


async def test_a_start_where_the_bus_remembers_issues_nothing(managed: Managed) -> None:
    await managed.start()

    async with managed.running(restart_work=False):
        await managed.say("brand-resolution", NO_MATCH)
        await managed.event(LookupFinished)

    assert len(await managed.events(StageIssued)) == 1


async def test_a_run_that_waits_for_a_retry_over_a_start_still_has_its_deadline(
    managed: Managed,
) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", AWAY)
        await managed.event(AttemptFailed)

    async with managed.running():
        managed.passes(10)
        assert (await managed.event(StageIssued, 2)).attempt == 2
        managed.passes(110)
        settled = await managed.event(SearchSettled)

    assert settled.outcome == "timeout"


async def test_a_deadline_that_passed_while_nobody_ran_ends_the_run_at_the_start(
    managed: Managed,
) -> None:
    await managed.start()
    await managed.search("s1", "a")
    managed.passes(3_600)

    async with managed.running():
        assert (await managed.event(SearchSettled)).outcome == "timeout"


async def test_a_finish_nobody_settled_is_settled_at_the_start(managed: Managed) -> None:
    await managed.start()
    await managed.search("s1", "a")
    async with managed.running():
        await managed.say("brand-resolution", NO_MATCH)
        await managed.event(SearchSettled)
    await managed.search("s2", "a")  # joined just after the finish, and nobody ran

    async with managed.running():
        settled = await managed.event(SearchSettled, 2)

    assert (settled.search, settled.outcome, settled.cached) == ("s2", "no_linkedin", False)


async def test_a_search_that_joined_just_after_the_finish_is_settled(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", NO_MATCH)
        await managed.event(SearchSettled)

        await managed.search("late", "a")
        settled = await managed.event(SearchSettled, 2)

    assert (settled.search, settled.cached) == ("late", False)


async def test_a_join_to_a_run_that_ended_long_ago_is_settled_from_the_log(
    managed: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.pipeline.lookups.PAGE", 3)
    async with managed.running():
        for number in range(1, 8):
            await managed.start()
            lookup = LOOKUP.replace(".1", f".{number}")
            await managed.say("brand-resolution", NO_MATCH, lookup=lookup)
            await managed.event(LookupFinished, number)
        await managed.search("late", "a", LOOKUP)
        settled = await managed.event(SearchSettled)
        third = LOOKUP.replace(".1", ".3")
        await managed.search("later", "a", third)
        again = await managed.event(SearchSettled, 2)

    assert (settled.search, settled.lookup) == ("late", LOOKUP)
    assert (again.search, again.lookup) == ("later", third)


async def test_two_process_managers_settle_and_issue_once(managed: Managed) -> None:
    async with managed.running(), managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", AWAY)
        await managed.event(AttemptFailed)
        managed.passes(10)
        await managed.event(StageIssued, 2)
        await managed.say("brand-resolution", NO_MATCH, attempt=2)
        await managed.event(SearchSettled)

    assert [e.attempt for e in await managed.events(StageIssued)] == [1, 2]
    assert len(await managed.events(LookupFinished)) == 1
    assert len(await managed.events(SearchSettled)) == 1


# A log that is away.


class UnavailableLog(MemoryEventLog):
    """A log that now and then cannot say whether it stored an append."""

    def __init__(self) -> None:
        super().__init__(MemoryKeyStore())
        self.failures: list[str] = []

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        failure = self.failures.pop() if self.failures else None
        if failure == "before":
            raise LogUnavailable("no answer")
        position = await super().append(appends, ceiling)
        if failure == "after":
            raise LogUnavailable("the answer was lost")
        return position


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("failure", ["before", "after"])
async def test_progress_and_settlement_wait_for_the_log_and_are_stored_once(
    failure: str,
) -> None:
    log = UnavailableLog()
    managed = Managed(log)
    await managed.key("a")
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.event(StageIssued)
        log.failures = [failure] * 3
        await managed.say("brand-resolution", NO_MATCH)
        await managed.event(LookupFinished)
        log.failures = [failure] * 3
        await managed.event(SearchSettled)
        log.failures.clear()
        await managed.search("s2", "a")
        await managed.event(SearchSettled, 2)
    await managed.views.close()

    settled = [e.search for e in await managed.events(SearchSettled)]
    assert settled == ["s1", "s2"]
    assert len(await managed.events(LookupFinished)) == 1


# Outcomes nobody can use.


# Why sources could not answer.


async def test_causes_of_a_stage_of_anybody_are_stored_without_people(
    managed: Managed,
) -> None:
    causes = {"web": "'Jane Doe' at https://x.test/in/jane,\nfor jane@acme.test"}
    kept = {"web": "[…] at https://x.test/… for [mailbox]"}
    async with managed.running():
        await managed.start()
        await managed.say("brand-resolution", replace(AWAY, causes=causes))
        failed = await managed.event(AttemptFailed)
        managed.passes(10)
        await _attempt(managed, STREAM, 2)
        await managed.say("brand-resolution", replace(RESOLVED, causes=causes), attempt=2)
        resolved = await managed.event(BrandResolved)
        await managed.say("contact-discovery", Discovered(people=(ADA,), causes=causes))
        discovered = await managed.event(ContactsDiscovered)

    assert failed.causes == resolved.causes == discovered.causes == kept
