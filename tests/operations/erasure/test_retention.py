"""People whom no search returned for as long as the operator keeps them are forgotten."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
import structlog.testing

from cs.domain.brand.events import LookupFinished
from cs.domain.key import KeyIssued
from cs.eventlog.port import Append
from cs.settings import BadSettings, load
from harness.manual_clock import ManualClock
from harness.outside import ADA
from operations.erasure.service import AwayKeys, Erasable, at_zenith, erasable, outside

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
MONTHS = 6
KEPT_FOR = MONTHS * timedelta(days=31)
DAY = timedelta(days=1)
OF_ANYBODY = ("Ada Kern", "ada.kern", "ada-kern", "Ben Ode", "ben.ode", "ben-ode")


async def told(service: Erasable) -> list[str]:
    stored = await service.stored()
    return [word for word in OF_ANYBODY if word in stored]


async def test_an_aged_search_shows_no_person_and_is_charged_as_before() -> None:
    clock = ManualClock(AT)
    async with erasable(outside(), clock=clock) as service:
        key = await service.new_key()
        before = (await service.search(key, brand="Acme")).json()
        aging = service.retention(MONTHS)

        clock.set(AT + KEPT_FOR)
        assert await aging.round() == 0, "not before its time"
        clock.set(AT + KEPT_FOR + DAY)
        with structlog.testing.capture_logs() as lines:
            assert await aging.round() == 1

        assert await service.read(key, before["id"]) == {**before, "contacts": []}  # C9
        assert await told(service) == []
        assert (aging.lookups, aging.people) == (1, 2)
        assert {"event": "people_aged_out", "log_level": "info", "lookups": 1, "people": 2} in (
            lines
        )
        rebuilt = await service.rebuilt(key.id, before["id"])
        assert rebuilt is not None
        assert b"Ada" not in rebuilt
        assert await aging.round() == 0
        assert await service.retention(MONTHS).round() == 0, "nor by another process"


async def test_a_later_search_that_returned_or_found_them_counts() -> None:
    clock = ManualClock(AT)
    async with erasable(outside(), clock=clock) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        clock.set(AT + 29 * DAY)
        again = (await service.search(key, brand="Acme")).json()
        assert again["cached"]
        aging = service.retention(MONTHS)

        clock.set(AT + KEPT_FOR + 2 * DAY)
        assert await aging.round() == 0
        clock.set(AT + KEPT_FOR + 30 * DAY)
        new = (await service.search(key, brand="Acme")).json()
        assert not new["cached"]
        assert await aging.round() == 1
        assert service.names(await service.read(key, new["id"])) == ["Ada Kern", "Ben Ode"]
        assert (await service.read(key, again["id"]))["contacts"] == []
        older = service.keys._keys.copy()
        clock.set(AT + 2 * KEPT_FOR + 32 * DAY)
        assert await aging.round() == 1
        assert await told(service) == []
        service.keys._keys = older  # as a backup brings them back
        assert await told(service) != []
        assert await service.erasure.reapply() == 0
        assert await told(service) == [], "nobody was suppressed, and all are forgotten again"


async def test_an_event_that_no_service_writes_keeps_no_other_person() -> None:
    clock = ManualClock(AT)
    async with erasable(outside(zenith=(at_zenith(ADA),)), clock=clock) as service:
        key = await service.new_key()
        hurt = (await service.search(key, brand="Acme")).json()
        other = (await service.search(key, brand="Zenith")).json()
        finished, _ = await service.recorded(LookupFinished)
        strange = KeyIssued(label="", quota=1, secret_hash="", last4="", at=AT)
        await service.log.append([Append(finished.stream, finished.version, (strange,))])
        aging = service.retention(MONTHS)
        clock.set(AT + KEPT_FOR + DAY)

        while await aging.round():
            pass

        assert (await service.read(key, other["id"]))["contacts"] == []
        assert (await service.read(key, hurt["id"]))["contacts"] == []
        assert aging.lookups == 1, "of the other nothing is said until it is mended"


async def test_what_was_cut_off_is_done_again() -> None:
    clock, keys = ManualClock(AT), AwayKeys()
    async with erasable(outside(), keys, clock=clock) as service:
        key = await service.new_key()
        before = (await service.search(key, brand="Acme")).json()
        aging = service.retention(MONTHS)
        clock.set(AT + KEPT_FOR + DAY)
        keys.away = True
        with pytest.raises(AwayKeys.Error):
            await aging.round()
        assert (await service.read(key, before["id"]))["contacts"] == []

        keys.away = False
        assert await aging.round() == 1
        assert await service.returned_on(AT.date()) == []


async def test_it_runs_by_itself_and_goes_on_after_a_failure() -> None:
    clock, keys = ManualClock(AT), AwayKeys()
    async with erasable(outside(), keys, clock=clock, months=MONTHS) as service:
        key = await service.new_key()
        before = (await service.search(key, brand="Acme")).json()
        assert before["contacts"]
        keys.away = True
        clock.set(AT + KEPT_FOR + DAY)
        async with asyncio.timeout(10):
            while (await service.read(key, before["id"]))["contacts"]:
                pass
        keys.away = False
        clock.set(clock.now() + timedelta(hours=1))
        async with asyncio.timeout(10):
            while await service.returned_on(AT.date()):
                pass
        assert await told(service) == []


@pytest.mark.parametrize("months", ["1", "0", "121", "never"])
def test_results_that_are_reused_are_never_aged_out(months: str) -> None:
    with pytest.raises(BadSettings, match="people_kept_for: a whole number from 2 to 120"):
        load(environment={"CS_PEOPLE_KEPT_FOR": months})


async def test_a_lookup_whose_people_were_all_erased_is_not_looked_at_for_ever() -> None:
    clock = ManualClock(AT)
    async with erasable(outside(acme=(ADA,)), clock=clock) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        await service.erasure.erase_mailbox("ada.kern@acme.test")
        aging = service.retention(MONTHS)
        clock.set(AT + KEPT_FOR + DAY)

        assert await aging.round() == 1
        assert await aging.round() == 0
