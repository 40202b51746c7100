"""Which event comes of which, worked out from their causes.  Pure.

A cause is stored as whoever appended knew it (`cs.domain.causation`): an answer names the work
that it answers, a timer what it was.  Here that leads to an event: an answer follows the
*stage issued* that asked for it, a retry the attempt that failed, the end of a run what was
stored with it.  Origins are what no event led to: a call, a command, the ageing of people.

Every event follows earlier ones only, so a chain ends.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.mail_domain import DomainLearned
from cs.history.caused_event import CausedEvent

#: What an event may be followed for: the last one of each is remembered.
Mark = tuple[str | int, ...]

#: The stage whose answer an event holds, if it does not say so itself.
_STAGE_OF: Mapping[type[AnyEvent], str] = {
    BrandResolved: "brand-resolution",
    PeopleFound: "contact-discovery",
    ContactsDiscovered: "contact-discovery",
    ContactsRanked: "ranking",
    MailboxVerified: "verification",
    MailboxNotVerified: "verification",
    MailDomainChecked: "verification",
}


class Chains:
    """Links events that are added in order of position; those of one run and its searches."""

    def __init__(self) -> None:
        self.events: dict[int, CausedEvent] = {}
        self._marked: dict[Mark, int] = {}
        self._together: list[CausedEvent] = []  # what was just stored in one append

    def add(self, event: CausedEvent) -> CausedEvent:
        """Add *event*; return it with what it follows."""
        self._note_append(event)
        follows = dict.fromkeys(self._follows(event))
        event = replace(event, follows=tuple(follows))
        self.events[event.position] = event
        self._together.append(event)
        for mark in _marks(event):
            self._marked[mark] = event.position
        return event

    def before(self, position: int) -> Iterator[CausedEvent]:
        """Yield everything that the event at *position* comes of, in no order."""
        yield from self._reached(position, {p: e.follows for p, e in self.events.items()})

    def after(self, position: int) -> Iterator[CausedEvent]:
        """Yield everything that comes of the event at *position*, in no order."""
        led_to: dict[int, list[int]] = {}
        for event in self.events.values():
            for each in event.follows:
                led_to.setdefault(each, []).append(event.position)
        yield from self._reached(position, led_to)

    def _reached(
        self, position: int, edges: Mapping[int, Sequence[int]]
    ) -> Iterator[CausedEvent]:
        seen, waiting = {position}, deque([position])
        while waiting:
            for each in edges.get(waiting.popleft(), ()):
                if each not in seen and each in self.events:
                    seen.add(each)
                    waiting.append(each)
                    yield self.events[each]

    def _note_append(self, event: CausedEvent) -> None:
        """Forget what was stored together before, unless *event* was stored with it too.

        Positions of one append have no gaps, and its events one cause.
        """
        if not self._together:
            return
        last = self._together[-1]
        same = last.caused_by == event.caused_by or last.inferred
        if event.inferred != last.inferred or event.position != last.position + 1 or not same:
            self._together = []

    def _follows(self, event: CausedEvent) -> Iterator[int]:
        said = event.said
        if event.is_a(SearchSettled):
            if not said.cached:
                yield from self._last(("finished", said.lookup or ""))
            yield from self._last(("admitted", said.search or ""))
            return
        issued_again = event.is_a(StageIssued) and isinstance(
            event.caused_by, TimerCause | StartCause
        )
        if event.is_a(StageIssued, LookupFinished, LookupStarted) and not issued_again:
            for each in reversed(self._together):
                if each.said.lookup == said.lookup and not each.is_a(StageIssued):
                    yield each.position
                    return
        if event.inferred and event.is_a(LookupFinished):
            yield from self._last(("started", said.lookup or ""))
        else:
            yield from self._led_by(event, event.caused_by)

    def _led_by(self, event: CausedEvent, cause: AnyCause | None) -> Iterator[int]:
        """Yield the event that *cause* points to, if one does."""
        said = event.said
        lookup, stage, item = said.lookup or "", said.stage or "", said.item
        match cause:
            case EventCause(position=position):
                if position in self.events:
                    yield position
            case MessageCause(id=id_):
                yield from self._last(*_work_of(id_))
            case TimerCause(timer="retry"):
                yield from self._last(("failed", lookup, stage, item), ("started", lookup))
            case TimerCause(timer="silence" | "mended") | StartCause():
                yield from self._last(("work", lookup, stage, item), ("started", lookup))
            case TimerCause(timer="deadline"):
                yield from self._last(("started", lookup))
            case TimerCause() | RequestCause() | OperatorCause():
                pass
            case None:
                yield from self._guessed(event)

    def _guessed(self, event: CausedEvent) -> Iterator[int]:
        """Yield what an event of an older version comes of, by what it says."""
        said, of = event.said, event.of
        lookup = said.lookup or ""
        stage = said.stage or (_STAGE_OF.get(of, "") if of else "")
        item = said.item or said.mail_domain or ""
        if event.is_a(AttemptFailed):
            yield from self._last(
                ("attempt", lookup, stage, item, said.attempt or 0), ("started", lookup)
            )
        elif event.is_a(DomainLearned):
            checked: Mark = ("checked", event.stream.removeprefix("mail-domain-"))
            yield from self._last(checked)
            self._marked.pop(checked, None)  # what is learned next is another one's
        elif stage:
            yield from self._last(
                ("work", lookup, stage, item), ("stage", lookup, stage), ("started", lookup)
            )

    def _last(self, *marks: Mark) -> Iterator[int]:
        """Yield the last event with the first of *marks* that any event has."""
        for mark in marks:
            if mark in self._marked:
                yield self._marked[mark]
                return


def _marks(event: CausedEvent) -> Iterable[Mark]:
    """Return what *event* may be followed for."""
    said = event.said
    lookup, stage, item = said.lookup or "", said.stage or "", said.item
    if event.is_a(StageIssued):
        return (
            ("attempt", lookup, stage, item, said.attempt or 0),
            ("work", lookup, stage, item),
            ("stage", lookup, stage),
        )
    if event.is_a(AttemptFailed):
        return (("failed", lookup, stage, item),)
    if event.is_a(LookupStarted):
        return (("started", lookup),)
    if event.is_a(LookupFinished):
        return (("finished", lookup),)
    if event.is_a(SearchAdmitted):
        return (("admitted", said.search or ""),)
    if event.is_a(MailDomainChecked):
        return (("checked", said.mail_domain or ""),)
    return ()


#: Ids of answers (docs/topics.md): an item is a mail domain, or nothing.
_ANSWER = re.compile(r"(?P<lookup>[^/]+)/(?P<stage>[^/]+)/(?P<item>.*)/(?P<attempt>\d+)/[^/]+")


def lookup_of_message(id_: str) -> str:
    """Return the lookup that the message *id_* is about.

    >>> lookup_of_message("brand-a.1/verification/acme.test/2/domain-verified")
    'brand-a.1'
    """
    return id_.partition("/")[0]


def _work_of(id_: str) -> Iterable[Mark]:
    """Return the marks of the work that the message *id_* answers, the exact one first."""
    answer = _ANSWER.fullmatch(id_)
    if answer is None:
        return ()
    lookup, stage, item = answer["lookup"], answer["stage"], answer["item"]
    return (
        ("attempt", lookup, stage, item, int(answer["attempt"])),
        ("work", lookup, stage, item),
        ("started", lookup),
    )
