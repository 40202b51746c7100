"""What sources cost and gave, as the work that is published gets to know it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import ContactBounced
from cs.domain.codec import AnyEvent
from cs.domain.source_cost import SourceCost, SourceFigures
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable, RecordedEvent
from cs.metrics.metrics import Metrics
from cs.pipeline.relay import FRESH_S, LearnedFigures
from cs.projections.event_counts import EventCounts
from cs.projections.source_weeks import WEEKS, figures_until
from cs.projections.views import Views
from domain.acme_run import AT
from domain.golden_files import golden_event
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.places import runner_of, views_in

DISCOVERED = golden_event("brand.contacts-discovered.v1+costs")
WEEK = timedelta(weeks=1)


async def views_of(*events: AnyEvent) -> Views:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await log.append([Append("brand-a", NO_STREAM, events)])
    views = views_in(None)
    await runner_of(log, views, keys).catch_up()
    return views


async def test_the_last_quarter_of_a_year_counts() -> None:
    now = DISCOVERED.at
    views = await views_of(
        replace(DISCOVERED, at=now - WEEKS * WEEK),  # too long ago
        replace(DISCOVERED, at=now - (WEEKS - 1) * WEEK),
        DISCOVERED,
        golden_event("brand.resolved.v1+costs"),
        golden_event("brand.attempt-failed.v1+costs"),
        golden_event("brand.contacts-ranked.v1+costs"),
        golden_event("brand.mail-domain-checked.v1+costs"),
        golden_event("brand.lookup-finished.v1+verified-from"),
    )

    found = await figures_until(views, now)
    await views.close()

    assert found == (
        SourceFigures("brand-resolution", "directory", asked=1, found=1, used=1),
        SourceFigures("brand-resolution", "wikidata", asked=1),
        SourceFigures(
            "contact-discovery", "brave", asked=2, calls=4, micros=20_000, found=6, used=2
        ),
        # Two answers, a failed attempt, and the verified person of the finished lookup.
        SourceFigures("contact-discovery", "searxng", asked=3, found=2, used=2, verified=1),
        SourceFigures("ranking", "opinion", asked=3, calls=1, micros=2_000, found=3, used=1),
        SourceFigures("verification", "smtp", asked=3, found=1, used=1, verified=1),
        SourceFigures("verification", "zerobounce", asked=2, calls=1, micros=8_000),
    )


class Store:
    """What figures are read from, or not."""

    def __init__(self) -> None:
        self.reads = 0
        self.away = False
        self.micros = 1

    async def read(self) -> list[SourceFigures]:
        self.reads += 1
        if self.away:
            raise LogUnavailable("away")
        ranking = SourceFigures(stage="ranking", name="opinion", micros=9)
        free = SourceFigures(stage="verification", name="smtp", asked=9)
        paid = SourceFigures(stage="verification", name="acme", micros=self.micros)
        return [free, ranking, paid, replace(paid, stage="contact-discovery")]


async def test_figures_are_read_once_a_minute_and_no_work_waits_for_them() -> None:
    store, clock = Store(), ManualClock(AT)
    figures = LearnedFigures(store.read, clock)
    before = await figures.of("verification")
    store.micros, store.away = 2, True
    assert await figures.of("verification") == before
    assert store.reads == 1

    clock.set(AT + timedelta(seconds=FRESH_S))
    assert await figures.of("verification") == before
    assert store.reads == 2

    store.away = False
    clock.set(AT + timedelta(seconds=2 * FRESH_S))
    assert await figures.of("verification") != before


@pytest.mark.parametrize("costs", [(), (SourceCost(name="brave", found=1),)])
async def test_a_week_without_questions_has_no_row(
    costs: tuple[SourceCost, ...],
) -> None:
    views = await views_of(replace(DISCOVERED, costs=costs))

    assert await figures_until(views, DISCOVERED.at) == ()
    await views.close()


# What is counted of events.


def page(*events: AnyEvent) -> list[RecordedEvent]:
    return [RecordedEvent(n, "mail-domain-a", n, event) for n, event in enumerate(events)]


def test_bounces_are_counted_by_kind_and_lost_emails_by_verifier() -> None:
    metrics = Metrics()
    told = golden_event("mail-domain.bounce-reported.v1")
    lost = golden_event("brand.contact-bounced.v1")
    assert isinstance(lost, ContactBounced)

    EventCounts(metrics).on_events(page(told, told, lost))

    assert metrics.bounces.read() == {("permanent",): 2}
    assert metrics.corrected.read() == {(lost.verifier,): 1}
