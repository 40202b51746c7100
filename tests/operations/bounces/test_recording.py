"""Mail that came back: what was returned is corrected, and not verified again so soon."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cs.domain import mail_domain
from cs.domain.brand.events import ContactBounced, LookupFinished, MailboxVerified
from cs.domain.mail.bounce import Bounce, BounceKind
from cs.domain.mail_domain import REFUTED_FOR, BounceReported, MailDomain
from cs.domain.messages import Event
from cs.eventlog.port import Append, Ceiling
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ADA, Mailboxes
from harness.stores import BOUNCED
from operations.erasure.service import (
    ADA_MAILBOX,
    BEN_MAILBOX,
    Erasable,
    at_zenith,
    erasable,
    outside,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def gone(address: str, at: datetime = NOW, **more: Any) -> Bounce:
    return Bounce(address=address, at=at, **{"status": "5.1.1", **more})


def emails(answer: dict[str, Any]) -> list[str | None]:
    return [contact["email"] for contact in answer["contacts"]]


async def test_every_brand_is_corrected_and_the_pattern_no_longer_believed() -> None:
    clock = ManualClock(NOW)
    tools = outside(zenith=(at_zenith(ADA),), zenith_mail=("acme.test",))
    async with erasable(tools, clock=clock) as service:
        key, streams = await service.new_key(), service.running.streams
        await service.search(key, brand="Acme")
        await service.search(key, brand="Zenith")
        before = (await streams.mail_domain("acme.test")).state

        (told,) = await service.record([gone(ADA_MAILBOX, diagnostic="no such user")])

        after = (await streams.mail_domain("acme.test")).state
        assert (before.facts.pattern, after.facts.pattern) == ("first.last", None)
        assert told.corrected == 2
        found = await service.recorded(BounceReported, ContactBounced)
        assert [each.caused_by for each in found] == [BOUNCED] * 3
        bounced = await service.events(ContactBounced)
        assert {(each.verifier, each.verified) for each in bounced} == {
            ("listed", 1),
            ("listed", 0),
        }
        sealed = [row.state for row in await service.log.stored(0, 1_000)]
        assert not any(b"ada.kern" in state or b"no such user" in state for state in sealed)


async def test_the_same_twice_changes_nothing() -> None:
    clock = ManualClock(NOW)
    async with erasable(outside(), clock=clock) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        bounces = [
            gone(ADA_MAILBOX),
            gone(ADA_MAILBOX),
            gone(BEN_MAILBOX, status="4.2.2"),
            Bounce(address=BEN_MAILBOX, status="5.7.1"),
            gone("nobody@acme.test"),
        ]

        foreseen = await service.record(bounces, dry_run=True)
        head = await service.log.head()
        first = await service.record(bounces)
        after = await service.log.head()
        second = await service.record(bounces)

        assert (foreseen, await service.log.head()) == (first, after)
        assert after == head + 4, "three told of the mail domain, one correction"
        assert [each.result for each in first] == [
            "recorded",
            "known",
            "recorded",
            "recorded",
            "not_ours",
        ]
        assert [each.result for each in second] == ["known"] * 4 + ["not_ours"]


async def test_without_a_verified_mailbox_left_the_next_search_is_live_and_in_vain() -> None:
    """Contract C11, as of an erasure; a check of after `REFUTED_FOR` counts again."""
    clock = ManualClock(NOW)
    mailboxes = Mailboxes(frozenset({ADA_MAILBOX}))
    async with erasable(outside(mailboxes=mailboxes), clock=clock) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")

        await service.record([gone(ADA_MAILBOX)])
        mailboxes.checked.clear()
        again = (await service.search(key, brand="Acme")).json()
        asked = list(mailboxes.checked)
        clock.set(NOW + REFUTED_FOR)
        later = (await service.search(key, brand="Acme")).json()

        assert (again["status"], again["reason"], again["cached"]) == (
            "failed",
            "no_emails",
            False,
        )
        assert again["usage"]["used"] == 1
        assert asked, "about her other guesses, and about others"
        assert ADA_MAILBOX not in asked
        assert (later["status"], emails(later)) == ("done", [ADA_MAILBOX, None])


@pytest.mark.parametrize("days", [29, 30])
async def test_a_bounce_of_before_stands_against_a_check_for_thirty_days(days: int) -> None:
    clock = ManualClock(NOW)
    async with erasable(outside(), clock=clock) as service:
        key = await service.new_key()
        answer = (await service.search(key, brand="Acme")).json()

        old = gone(ADA_MAILBOX, NOW - timedelta(days=days))
        (told,) = await service.record([old])

        assert told.corrected == (1 if days < 30 else 0)
        reread = await service.read(key, answer["id"])
        assert (ADA_MAILBOX in str(reread)) is (days == 30)


async def test_a_temporary_bounce_and_a_block_are_counted_only() -> None:
    clock = ManualClock(NOW)
    async with erasable(outside(), clock=clock) as service:
        key = await service.new_key()
        answer = (await service.search(key, brand="Acme")).json()

        told = await service.record(
            [gone(ADA_MAILBOX, status="5.2.2"), gone(BEN_MAILBOX, status="5.7.1")]
        )

        assert [each.kind for each in told] == [BounceKind.TEMPORARY, BounceKind.OTHER]
        assert (await service.read(key, answer["id"]))["contacts"] == answer["contacts"]
        (finished,) = await service.events(LookupFinished)
        assert finished.verified == 2


async def test_who_is_erased_is_erased_from_what_came_back_too() -> None:
    clock = ManualClock(NOW)
    async with erasable(outside(), clock=clock) as service:
        key = await service.new_key()
        answer = (await service.search(key, brand="Acme")).json()
        await service.record([gone(ADA_MAILBOX, diagnostic="no Ada Kern")])

        await service.erasure.erase_mailbox(ADA_MAILBOX)
        reread = await service.read(key, answer["id"])
        (told,) = await service.record([gone(ADA_MAILBOX)])

        assert service.names(reread) == ["Ben Ode"]
        assert "Ada" not in await service.stored()
        assert told.result == "not_ours"


reports = st.builds(
    lambda box, day, kind, seen: BounceReported(
        mailbox=box,
        bounced_at=NOW + timedelta(days=day),
        kind=kind,
        why="x",
        at=NOW + timedelta(days=day + seen),
    ),
    st.sampled_from(["a", "b", "c"]),
    st.integers(0, 90),
    st.sampled_from(BounceKind),
    st.integers(0, 5),
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(reports, max_size=8), st.integers(0, 120))
def test_a_mailbox_is_refuted_exactly_while_its_newest_permanent_bounce_stands(
    events: list[BounceReported], day: int
) -> None:
    events = sorted(events, key=lambda event: event.at)
    at = max([NOW + timedelta(days=day), *(event.at for event in events)])
    state = reduce(mail_domain.evolve, events, mail_domain.INITIAL)

    for mailbox in "abc":
        times = [
            event.bounced_at
            for event in events
            if event.mailbox == mailbox and event.kind is BounceKind.PERMANENT
        ]
        stands = bool(times) and at < max(times) + REFUTED_FOR
        assert state.refutes(mailbox, at) is stands
    assert not MailDomain().refutes("a", at)


# Next to searches that run.


class InterruptedLog(MemoryEventLog):
    """Does something else just before the first append of an event of one type.

    Attributes:
        before: By type of event what is done, once.
    """

    before: dict[type[Event], Callable[[], Awaitable[None]]]

    def __init__(self, keys: MemoryKeyStore) -> None:
        super().__init__(keys)
        self.before = {}

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        for event in (event for each in appends for event in each.events):
            interrupt = self.before.pop(type(event), None)
            if interrupt is not None:
                await interrupt()
        return await super().append(appends, ceiling)


@asynccontextmanager
async def found_at_acme() -> AsyncIterator[tuple[Erasable, InterruptedLog, Any]]:
    """Run a service that has found Ada at Acme; give it, its log and the key that asked."""
    keys = MemoryKeyStore()
    log = InterruptedLog(keys)
    tools = outside((ADA,), zenith=(at_zenith(ADA),), zenith_mail=("acme.test",))
    async with erasable(tools, keys, clock=ManualClock(NOW), log=log) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        yield service, log, key


async def test_a_bounce_between_a_check_and_its_storing_refutes_it() -> None:
    async with found_at_acme() as (service, log, key):
        became: list[Any] = []

        async def bounce() -> None:
            became.extend(await service.record([gone(ADA_MAILBOX)]))

        log.before[MailboxVerified] = bounce
        zenith = (await service.search(key, brand="Zenith")).json()

        assert [each.corrected for each in became] == [1], "of Acme alone: Zenith has none yet"
        assert (zenith["status"], zenith["reason"]) == ("failed", "no_emails")
        assert ADA_MAILBOX not in str(zenith)


async def test_a_check_stored_while_a_bounce_is_recorded_is_corrected() -> None:
    async with found_at_acme() as (service, log, key):
        shown: list[str] = []

        async def search() -> None:
            found = (await service.search(key, brand="Zenith")).json()
            assert ADA_MAILBOX in str(found)
            shown.append(found["id"])

        log.before[BounceReported] = search
        (became,) = await service.record([gone(ADA_MAILBOX)])

        assert became.corrected == 2
        assert ADA_MAILBOX not in str(await service.read(key, *shown))
