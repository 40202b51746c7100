"""What the driver remembers of the log, and what each event wants done.

It holds no truth: all of it is made anew from the log at a start.  Nothing is waited for
while an event is noted, so that what is remembered is always that of one position; what
takes time is returned as a `FollowUp`.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from structlog import get_logger

from cs.domain import mail_domain
from cs.domain.brand.events import (
    AttemptFailed,
    ContactsErased,
    LookupFinished,
    LookupStarted,
    MailDomainChecked,
    StageIssued,
)
from cs.domain.causation import AnyCause, EventCause
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.stages.table import closed_work
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from cs.metrics.traces import NO_TRACES, Traces
from cs.pipeline.in_flight import InFlightWork
from cs.pipeline.lookups import Lookups
from cs.pipeline.refuted import RefutedMailboxes
from cs.pipeline.settlement import SearchSettler
from cs.pipeline.timers import Timers
from cs.runtime import failpoints
from cs.runtime.clock import Clock

log = get_logger()

#: What is remembered of a stream, besides its folded state.
REMEMBERED = (LookupStarted, LookupFinished, ContactsErased, SearchAdmitted, SearchSettled)


class FollowUp(NamedTuple):
    """What an event wants done.

    Attributes:
        order: What it keeps its order with: a lookup, or a mail domain.
        do: Does it.
    """

    order: tuple[str, str]
    do: Callable[[], Awaitable[None]]


class DriverNotes:
    """Lookups that run, their timers and work in flight, and the searches that wait.

    Args:
        real: Measures how long work is silent.
        traces: Where the spans of settlements go.
        refuted: Knows from which mailboxes mail came back; without it from none.

    Attributes:
        open: The lookups that run.
    """

    def __init__(
        self,
        streams: Streams,
        clock: Clock,
        real: Clock,
        traces: Traces = NO_TRACES,
        *,
        refuted: RefutedMailboxes | None = None,
    ) -> None:
        self._streams = streams
        self._clock = clock
        self.lookups = Lookups(streams, clock, refuted)
        self.open: set[str] = set()
        self.timers = Timers(clock)
        self.in_flight = InFlightWork(real.monotonic)
        self.settler = SearchSettler(streams, self.lookups, clock, traces)

    def note_page(
        self, page: Sequence[RecordedEvent]
    ) -> Sequence[tuple[RecordedEvent, FollowUp]]:
        """Note all of *page*; return what is to be done for which of its events."""
        wanted = []
        to_start = {each.event.lookup for each in page if isinstance(each.event, LookupStarted)}
        # Stored with their end, as nearly all that an earlier lookup answers.
        settled = {each.event.search for each in page if isinstance(each.event, SearchSettled)}
        for recorded in page:
            follow_up = self.note(recorded)
            if isinstance(recorded.event, LookupStarted):
                to_start.discard(recorded.event.lookup)
            elif isinstance(recorded.event, SearchAdmitted):
                lookup = recorded.event.lookup
                is_over = lookup not in self.open and lookup not in to_start
                if is_over and recorded.event.search not in settled:
                    # It joined just after the finish was stored.
                    follow_up = self._settlement(lookup, recorded.position)
            if follow_up is not None:
                wanted.append((recorded, follow_up))
        return wanted

    def note(self, recorded: RecordedEvent) -> FollowUp | None:  # noqa: C901 - a match
        """Remember what *recorded* says; return what is to be done for it."""
        closed = closed_work(recorded.event)
        if closed is not None:
            self.in_flight.answered(closed.lookup, closed.stage, closed.item)
        match recorded.event:
            case MailDomainChecked(mail_domain=domain, learned=learned):
                caused_by = EventCause(position=recorded.position)
                learn = partial(self._learn, domain, learned, caused_by)
                return FollowUp(("mail-domain", domain), learn)
            case LookupStarted(lookup=lookup, deadline_at=deadline_at):
                self.open.add(lookup)
                self.timers.set(deadline_at, lookup)
            case StageIssued(lookup=lookup, stage=stage, item=item, attempt=attempt):
                self.in_flight.issued(lookup, stage, item, attempt)
            case AttemptFailed(lookup=lookup, stage=stage, item=item, retry_at=retry_at):
                self.in_flight.answered(lookup, stage, item)
                if retry_at is not None:
                    self.timers.set(retry_at, lookup)
            case LookupFinished(lookup=lookup, outcome=outcome, verified=verified):
                self.open.discard(lookup)
                self.in_flight.finished(lookup)
                log.info("lookup_finished", lookup=lookup, outcome=outcome, verified=verified)
                return self._settlement(lookup, recorded.position)
            case ContactsErased(lookup=lookup):
                # Its state in memory has them in clear.
                return FollowUp(("lookup", lookup), partial(self._read_anew, lookup))
            case SearchAdmitted(search=search, lookup=lookup):
                self.settler.add_waiting(search, recorded.stream.removeprefix("key-"), lookup)
            case SearchSettled(search=search, lookup=lookup):
                self.settler.remove_waiting(search, lookup)
            case _:
                pass
        return None

    def _settlement(self, lookup: str, position: int) -> FollowUp:
        """Return how those are settled who wait for *lookup* as far as is noted.

        Because of the event at *position*.
        """
        caused_by, waiting = EventCause(position=position), self.settler.waiting(lookup)
        settle = partial(self.settler.settle, lookup, waiting, caused_by)
        return FollowUp(("lookup", lookup), settle)

    async def _read_anew(self, lookup: str) -> None:
        await self.lookups.brand(lookup)

    async def _learn(self, domain: str, learned: DomainFacts, caused_by: AnyCause) -> None:
        command = mail_domain.LearnDomain(facts=learned, at=self._clock.now())
        failpoints.reach("learning.before-append")
        try:
            await self._streams.change(
                f"mail-domain-{domain}",
                lambda state: mail_domain.decide(command, state),
                caused_by=caused_by,
            )
        except LogUnavailable as error:  # or a newer version's, who learns for itself
            log.warning("mail_domain_not_learned", why=str(error))  # only costs a probe
        failpoints.reach("learning.after-append")
