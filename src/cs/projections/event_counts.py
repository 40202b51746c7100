"""Counts lookups, charges, verdicts, bounces and erased people by their events.

Events are counted where the views are written, which one process does at a time, so that the
sum over all processes counts each once.  What is stored while no process leads is not counted.
"""

from collections.abc import Sequence
from datetime import datetime

from cs.domain.brand.events import (
    AttemptFailed,
    ContactBounced,
    ContactsErased,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    StageIssued,
)
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.mail_domain import BounceReported
from cs.domain.stages.table import ClosedWork, closed_work
from cs.eventlog.port import RecordedEvent
from cs.metrics.metrics import Metrics
from cs.runtime.lru import LruDict

#: Lookups and pieces of work whose start is remembered; one that is forgotten is not timed.
REMEMBERED = 5_000


class EventCounts:
    """Give `on_events` pages of events, each event once."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._started = LruDict[str, datetime](REMEMBERED)
        self._issued = LruDict[ClosedWork, datetime](REMEMBERED)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        for recorded in page:
            self._count(recorded.event)

    def _count(self, event: object) -> None:  # noqa: C901 - a match
        metrics = self._metrics
        match event:
            case SearchAdmitted():
                metrics.searches_admitted.of().inc()
            case SearchSettled(outcome=outcome, cached=cached, charged=charged):
                metrics.searches_settled.of(outcome, "yes" if cached else "no").inc()
                metrics.charges.of().inc(charged)
            case LookupStarted(lookup=lookup, at=at):
                self._started[lookup] = at
            case LookupFinished(lookup=lookup, outcome=outcome, at=at):
                started = self._started.pop(lookup, None)
                if started is not None:
                    took_s = (at - started).total_seconds()
                    metrics.lookup_seconds.of(outcome).observe(took_s)
            case StageIssued(lookup=lookup, stage=stage, item=item, at=at):
                # Of work that is issued again the first time counts.
                self._issued.setdefault(ClosedWork(lookup, stage, item), at)
            case AttemptFailed(stage=stage, why=why):
                metrics.attempts_failed.of(stage, why).inc()
            case MailboxVerified(checked=checked) | MailboxNotVerified(checked=checked):
                metrics.verdicts.of(checked.verdict.value).inc()
            case BounceReported(kind=kind):
                metrics.bounces.of(kind.value).inc()
            case ContactBounced(verifier=verifier):
                metrics.corrected.of(verifier).inc()
            case ContactsErased(people=people, aged_out=aged_out):
                metrics.erased.of("time" if aged_out else "asked").inc(len(people))
            case _:
                pass
        closed = closed_work(event)
        issued_at = None if closed is None else self._issued.pop(closed, None)
        if closed is not None and issued_at is not None:
            took_s = (event.at - issued_at).total_seconds()  # type: ignore[attr-defined]
            metrics.lookup_stage_seconds.of(closed.stage).observe(took_s)
