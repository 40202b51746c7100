"""Lookups in progress have an end: beyond it new ones are refused, and only new ones."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from cs.api.admission import RunningLookups
from cs.domain.brand.events import (
    EVENT_TOPICS,
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
)
from cs.domain.codec import AnyEvent
from cs.domain.key import SearchAdmitted
from cs.eventlog.port import LogUnavailable, RecordedEvent
from domain.acme_run import AT
from domain.golden_files import golden_event
from harness.manual_clock import ManualClock
from system.overload.http_service import ALLOWED, over_http


async def test_beyond_the_bound_new_brands_are_refused_and_all_others_answered() -> None:
    async with over_http(allowed=replace(ALLOWED, lookups_at_once=2)) as over:
        one, two, three, four = await over.keys(4)
        reused = await over.post(one, "Acme", wait=True)
        assert reused.json()["cached"] is False
        running = [await over.post(one, "slow 0"), await over.post(two, "slow 1")]

        refused = await over.post(three, "slow 2")

        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "at_capacity")
        assert refused.headers["Retry-After"] == "30"
        assert refused.headers["RateLimit-Remaining"] == "60"
        log = await over.service.streams.log.tail(0)
        assert sum(isinstance(each.event, SearchAdmitted) for each in log) == 3
        assert sum(isinstance(each.event, LookupStarted) for each in log) == 3
        assert (await over.post(three, "slow 0")).status_code == 202
        assert (await over.post(four, "Acme")).json()["cached"] is True

        over.staff.let.set()
        for answer in running:
            assert (await over.ended(answer))["status"] == "done"
        assert (await over.post(three, "slow 2", wait=True)).json()["status"] == "done"


async def test_no_number_of_callers_at_one_moment_gets_past_the_bound() -> None:
    async with over_http(allowed=replace(ALLOWED, lookups_at_once=5)) as over:
        keys = await over.keys(30)

        answers = await asyncio.gather(
            *(over.post(key, f"slow {n}") for n, key in enumerate(keys))
        )

        statuses = [answer.status_code for answer in answers]
        assert (statuses.count(202), statuses.count(503)) == (5, 25)


ANSWERS: list[type[AnyEvent]] = [
    *(BrandResolved, ContactsDiscovered, ContactsRanked),
    *(MailboxVerified, MailboxNotVerified, MailDomainChecked),
]


class Seen:
    """Lookups that run, with a clock, and events that they are given."""

    def __init__(self) -> None:
        self.clock = ManualClock(AT)
        self.lookups = RunningLookups(200, late_s=60, monotonic=self.clock.monotonic)

    def see(self, kind: type[AnyEvent], count: int) -> None:
        assert kind in RunningLookups.READS, "it is given no other"
        event = golden_event(next(topic for topic, of in EVENT_TOPICS.items() if of is kind))
        self.lookups.on_events(
            [
                RecordedEvent(n, "brand-a", n, replace(event, lookup=f"brand-a.{n}"))
                for n in range(count)
            ]
        )

    def full_at(self, seconds: float) -> bool:
        self.clock.set(AT + timedelta(seconds=seconds))
        return self.lookups.full


@pytest.mark.parametrize("answer", [*ANSWERS, AttemptFailed, LookupFinished])
def test_work_that_is_not_taken_up_in_time_lets_no_more_start_until_it_is(
    answer: type[AnyEvent],
) -> None:
    seen = Seen()
    seen.see(LookupStarted, 21)
    full = [seen.full_at(60), seen.full_at(61)]
    seen.see(answer, 1)
    full.append(seen.full_at(61))

    assert full == [False, True, False], "no more than 20 may wait for longer than 60 s"


@pytest.mark.parametrize("answer", ANSWERS)
def test_neither_does_work_that_piles_up_in_a_later_stage(answer: type[AnyEvent]) -> None:
    seen = Seen()
    seen.see(LookupStarted, 21)
    seen.full_at(50)
    seen.see(answer, 21)

    assert [seen.full_at(110), seen.full_at(111)] == [False, True]


@pytest.mark.parametrize("ended", [AttemptFailed, LookupFinished])
def test_what_waits_for_no_stage_is_not_late(ended: type[AnyEvent]) -> None:
    seen = Seen()
    seen.see(LookupStarted, 21)
    seen.see(ended, 21)

    assert not seen.full_at(120)


def test_lookups_whose_end_is_never_seen_do_not_refuse_for_ever() -> None:
    seen = Seen()
    seen.see(LookupStarted, 21)

    assert [seen.full_at(600), seen.full_at(601)] == [True, False]


def test_a_start_that_was_not_stored_does_not_count() -> None:
    lookups = RunningLookups(1, late_s=60)
    with pytest.raises(LogUnavailable), lookups.starting("one"):
        raise LogUnavailable("full")

    assert not lookups.full


def test_a_lost_race_to_start_a_lookup_frees_no_place_but_its_own() -> None:
    lookups = RunningLookups(1, late_s=60)
    loser = lookups.starting("brand-a.1-lost")
    loser.__enter__()
    with lookups.starting("brand-a.1-won"):
        pass
    loser.__exit__(LogUnavailable, LogUnavailable("lost the race"), None)

    assert lookups.full
    assert len(lookups) == 1
