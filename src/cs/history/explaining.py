"""Reading what one event came of and what it led to: ``cs events why``."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    ContactsErased,
    LookupFinished,
    LookupStarted,
    MailDomainChecked,
)
from cs.domain.causation import EventCause, MessageCause, OperatorCause, TimerCause
from cs.domain.codec import AnyEvent, event_of, shapes
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.mail_domain import DomainLearned
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import EVERYTHING, EventLog, SealedEvent, Where
from cs.history.causation import Chains, lookup_of_message
from cs.history.caused_event import CausedEvent, caused_event
from cs.history.history import WINDOW, Progress, unseen

#: Positions that are searched in one go for the one event that began a run.
_WIDE = 100_000
#: How far back it is looked for what taught an old event about a mail domain.
_TAUGHT = 50_000
#: Events of one admission: a search, its run, and the first work.
_ADMISSION = 3
#: A run that has ended, whose searches are all settled, is read so much further: who joined it
#: as it ended is stored seconds later, and what it taught when a driver comes to it.
AFTER_THE_END = timedelta(hours=1)


class Explanation(msgspec.Struct, frozen=True):
    """One event, what it came of and what came of it.

    Attributes:
        before: What it came of, back to the origins, in order of position.
        after: What came of it, in order of position.
    """

    event: CausedEvent
    before: Sequence[CausedEvent]
    after: Sequence[CausedEvent]


class Explainer:
    """Explains events of *log*: holds those of one run and its searches in memory."""

    def __init__(self, log: EventLog, progress: Progress = unseen) -> None:
        self._log = log
        self._progress = progress

    async def explain(self, position: int) -> Explanation | None:
        """Return why the event at *position* came about; ``None``: there is none.

        Raises:
            LogUnavailable: The log cannot be read now.
            DamagedEvent: What is stored there is no event.
        """
        row = await self._at(position)
        if row is None:
            return None
        asked = _readable(row)
        if asked is None:
            why = f"event {position}, {row.stream} version {row.version}, is damaged"
            raise DamagedEvent(position, row.stream, row.version, why)
        chains = Chains()
        async for event in self._related(asked):
            if event.position > position and position not in chains.events:
                chains.add(asked)
            chains.add(event)
        asked = chains.events.get(position) or chains.add(asked)
        return Explanation(
            asked, _in_order(chains.before(position)), _in_order(chains.after(position))
        )

    async def _at(self, position: int) -> SealedEvent | None:
        if position < 1:
            return None
        rows = await self._log.select(EVERYTHING, position - 1, position)
        return rows[0] if rows else None

    async def _related(self, asked: CausedEvent) -> AsyncIterator[CausedEvent]:
        """Yield what may be linked to *asked*, in order of position."""
        reused = await self._reused(asked)
        lookup = None if reused else await self._lookup_of(asked)
        began = None if lookup is None else await self._began(lookup, asked.position)
        if lookup is None or began is None:
            for event in reused:
                yield event
            return
        async for event in self._of_run(lookup, began, asked.position):
            yield event

    async def _reused(self, asked: CausedEvent) -> Sequence[CausedEvent]:
        """Return the two events of a search that was answered from an earlier run."""
        if not asked.is_a(SearchAdmitted, SearchSettled):
            return ()
        first = asked.position - asked.is_a(SearchSettled)
        rows = await self._log.select(EVERYTHING, first - 1, first + 1)
        found = [event for row in rows if (event := _readable(row)) is not None]
        theirs = [each for each in found if each.said.search == asked.said.search]
        return theirs if any(each.said.cached for each in theirs) else ()

    async def _lookup_of(self, asked: CausedEvent) -> str | None:
        """Return the run that *asked* is to be understood by."""
        match asked.caused_by:
            case MessageCause(id=id_):
                return lookup_of_message(id_)
            case OperatorCause() | TimerCause(timer="ageing"):
                return None
            case EventCause(position=position) if asked.said.lookup is None:
                row = await self._at(position)
                cause = None if row is None else _readable(row)
                return None if cause is None else cause.said.lookup
        if asked.is_a(DomainLearned):
            return await self._taught_by(asked)
        return None if asked.is_a(ContactsErased) else asked.said.lookup

    async def _taught_by(self, learned: CausedEvent) -> str | None:
        """Return the run whose *mail domain checked* taught what *learned* says."""
        domain = learned.stream.removeprefix("mail-domain-")
        where = Where(topics=_topics_of(MailDomainChecked))
        upto, first = learned.position - 1, max(learned.position - _TAUGHT, 0)
        while upto > first:
            rows = await self._log.select(where, max(upto - WINDOW, 0), upto)
            for row in reversed(rows):
                event = _readable(row)
                if event is not None and event.said.mail_domain == domain:
                    return event.said.lookup
            upto -= WINDOW
        return None

    async def _began(self, lookup: str, position: int) -> int | None:
        """Return the position of the event that began *lookup*."""
        where = Where(topics=_topics_of(LookupStarted), streams=frozenset({stream_of(lookup)}))
        upto = position + _ADMISSION
        while upto > 0:
            for row in reversed(await self._log.select(where, max(upto - _WIDE, 0), upto)):
                event = _readable(row)
                if event is not None and event.said.lookup == lookup:
                    return event.position
            upto -= _WIDE
        return None

    async def _of_run(
        self, lookup: str, began: int, position: int
    ) -> AsyncIterator[CausedEvent]:
        """Yield everything that has to do with *lookup*, which *began* at that position.

        At least up to *position*, and until nothing of it is open.
        """
        head = await self._log.head()
        mine = Where(streams=frozenset({stream_of(lookup)}))
        after, run = max(began - _ADMISSION, 0), _Run(lookup)
        while after < head:
            end = min(after + WINDOW, head)
            rows = {row.position: row for row in await self._log.select(mine, after, end)}
            others = await self._log.select(_OTHERS, after, end)
            rows.update((row.position, row) for row in others)
            in_order = [rows[at] for at in sorted(rows)]
            for row in in_order:
                event = run.event(row)
                if event is None:
                    continue
                if row.position > position and run.is_over(event.said.at):
                    return
                run.take(event)
                yield event
            last = _readable(in_order[-1]) if in_order else None
            if end >= position and last is not None and run.is_over(last.said.at):
                return
            after = end
            self._progress(end, head)


class _Run:
    """What of a run is still to come."""

    def __init__(self, lookup: str) -> None:
        self._lookup = lookup
        self._named = lookup.encode()
        self._positions: set[int] = set()
        self._waiting: set[str] = set()  # searches
        self._finished_at: datetime | None = None

    def event(self, row: SealedEvent) -> CausedEvent | None:
        """Return the event in *row*, if it has to do with the run."""
        learned = row.stream.startswith("mail-domain-")
        if not learned and self._named not in row.state and _ON_AN_EVENT not in row.state:
            return None
        event = _readable(row)
        return event if event is not None and self._is_mine(event) else None

    def take(self, event: CausedEvent) -> None:
        """Note *event*, which has to do with the run."""
        self._positions.add(event.position)
        search = event.said.search or ""
        if event.is_a(SearchAdmitted):
            self._waiting.add(search)
        elif event.is_a(SearchSettled):
            self._waiting.discard(search)
        elif event.is_a(LookupFinished):
            self._finished_at = event.said.at

    def _is_mine(self, event: CausedEvent) -> bool:
        match event.caused_by:
            case MessageCause(id=id_):
                return lookup_of_message(id_) == self._lookup
            case EventCause(position=position) if position in self._positions:
                return True
        if event.is_a(DomainLearned):
            return event.inferred
        return event.said.lookup == self._lookup

    def is_over(self, at: datetime) -> bool:
        """Return whether nothing of the run is to come at *at* or later."""
        ended_at = self._finished_at
        return ended_at is not None and not self._waiting and at - ended_at > AFTER_THE_END


def _topics_of(*types: type[AnyEvent]) -> frozenset[str]:
    return frozenset(topic for topic in shapes() if event_of(topic) in types)


#: In events that another event caused.
_ON_AN_EVENT = b'"caused_by":{"kind":"event"'
#: What a run may lead to outside its brand's stream.
_OTHERS = Where(
    topics=frozenset(topic for topic in shapes() if not topic.startswith("brand."))
    | _topics_of(ContactsErased)
)


#: What decoding raises if a stored event is not what was stored.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def _readable(row: SealedEvent) -> CausedEvent | None:
    """Return the event in *row*; ``None`` if it is damaged."""
    with suppress(*_UNREADABLE):
        return caused_event(row)
    return None


def _in_order(events: Iterable[CausedEvent]) -> Sequence[CausedEvent]:
    return sorted(events, key=lambda event: event.position)
