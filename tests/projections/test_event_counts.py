"""What is counted of events that no whole service is needed for."""

from cs.domain.brand.events import ContactBounced
from cs.domain.codec import AnyEvent
from cs.eventlog.port import RecordedEvent
from cs.metrics.metrics import Metrics
from cs.projections.event_counts import EventCounts
from domain.golden_files import golden_event


def page(*events: AnyEvent) -> list[RecordedEvent]:
    return [RecordedEvent(n, "mail-domain-a", n, event) for n, event in enumerate(events)]


def test_bounces_are_counted_by_kind_and_lost_e_mails_by_who_had_confirmed_them() -> None:
    metrics = Metrics()
    told = golden_event("mail-domain.bounce-reported.v1")
    lost = golden_event("brand.contact-bounced.v1")
    assert isinstance(lost, ContactBounced)

    EventCounts(metrics).on_events(page(told, told, lost))

    assert metrics.bounces.read() == {("permanent",): 2}
    assert metrics.corrected.read() == {(lost.verifier,): 1}
