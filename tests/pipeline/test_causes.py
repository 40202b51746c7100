"""What drives a lookup on is named in the events that come of it."""

from collections.abc import AsyncIterator

import pytest

from cs.domain.brand.events import (
    AttemptFailed,
    LookupFinished,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.domain.mail_domain import DomainLearned
from cs.domain.stages.work import (
    Discovered,
    DomainVerified,
    Failed,
    PeopleSeen,
    RankingDone,
    Resolved,
)
from cs.eventlog.port import RecordedEvent
from cs.pipeline.heartbeats import SILENCE_S
from domain.acme_run import ADA, HOME, RESOLVED, checked, ranked
from pipeline.managed import LOOKUP, Managed

NO_MATCH = Resolved(status="no_match")
AWAY = Failed(why="sources-away", retryable=True, retry_in_s=10)


@pytest.fixture
async def managed() -> AsyncIterator[Managed]:
    managed = Managed()
    await managed.key("a")
    yield managed
    await managed.views.close()


async def causes(managed: Managed, kind: type[AnyEvent]) -> list[AnyCause | None]:
    return [each.caused_by for each in await recorded(managed, kind)]


async def recorded(managed: Managed, kind: type[AnyEvent]) -> list[RecordedEvent]:
    """Return the events of *kind* of Acme's run and of the keys that are not another's."""
    tail = await managed.log.tail(0, 10_000)
    return [r for r in tail if isinstance(r.event, kind) and "other" not in r.stream]


def answer(name: str, attempt: int = 1) -> MessageCause:
    return MessageCause(topic="cs.outcomes.v1", id=f"{LOOKUP}/{name}", attempt=attempt)


async def test_an_answer_names_its_message_and_what_follows_the_event(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", RESOLVED)
        await managed.say("contact-discovery", PeopleSeen(people=(ADA,)))
        await managed.say("contact-discovery", Discovered(people=(ADA,)))
        await managed.say("ranking", RankingDone((ranked("p1"),)))
        await managed.event(StageIssued, 4)
        found = DomainVerified(
            checked=(checked("p1", Verdict.DELIVERABLE),), learned=DomainFacts(catch_all=False)
        )
        await managed.say("verification", found, item=HOME)
        await managed.event(SearchSettled)
        await managed.event(DomainLearned)

    verified = answer(f"verification/{HOME}/1/domain-verified")
    resolved = answer("brand-resolution//1/resolved")
    discovered = answer("contact-discovery//1/discovered")
    assert (await causes(managed, StageIssued))[1:3] == [resolved, discovered]
    seen = answer("contact-discovery//1/people-seen")
    assert await causes(managed, PeopleFound) == [seen], "without the hash of people behind it"
    (closed,) = await recorded(managed, MailDomainChecked)
    assert closed.caused_by == verified
    assert await causes(managed, DomainLearned) == [EventCause(position=closed.position)]
    (finished,) = await recorded(managed, LookupFinished)
    assert finished.caused_by == verified
    assert await causes(managed, SearchSettled) == [EventCause(position=finished.position)]


async def test_a_retry_and_a_deadline_name_their_timer(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", AWAY)
        await managed.event(AttemptFailed)
        managed.passes(10)
        await managed.event(StageIssued, 2)
        managed.passes(110)
        await managed.event(SearchSettled)

    assert await causes(managed, AttemptFailed) == [answer("brand-resolution//1/failed")]
    assert (await causes(managed, StageIssued))[1] == TimerCause(timer="retry")
    assert await causes(managed, LookupFinished) == [TimerCause(timer="deadline")]


async def test_silence_and_a_start_name_themselves(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.caught_up()
        managed.passes(SILENCE_S + 0.1)
        await managed.event(StageIssued, 3)

    async with managed.running():
        await managed.event(StageIssued, 4)

    assert (await causes(managed, StageIssued))[1:] == [
        TimerCause(timer="silence"),
        StartCause(),
    ]


async def test_who_joins_at_the_end_is_settled_because_they_joined(managed: Managed) -> None:
    async with managed.running():
        await managed.start()
        await managed.search("s1", "a")
        await managed.say("brand-resolution", NO_MATCH)
        await managed.event(SearchSettled)
        await managed.search("late", "a")
        await managed.event(SearchSettled, 2)
    await managed.search("later", "a")  # and nobody runs
    async with managed.running():
        await managed.event(SearchSettled, 3)

    (finished,) = await recorded(managed, LookupFinished)
    _, late, _ = await recorded(managed, SearchAdmitted)
    assert await causes(managed, SearchSettled) == [
        EventCause(position=finished.position),
        EventCause(position=late.position),
        StartCause(),
    ]
