"""Reading the log for a report, in one pass."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import TOPICS, decode, event_of
from cs.domain.contact import Query
from cs.domain.key import KeyIssued
from cs.eventlog.errors import DamagedEvent, NewerEvent
from cs.eventlog.mapper import TOPIC
from cs.eventlog.port import EVERYTHING, EventLog, SealedEvent
from cs.history.history import WINDOW, History, Progress
from cs.history.opening import DAMAGED, opened
from cs.history.report.events import OPENED, SLIM, Opened, ReportEvent, slim, slim_of
from cs.history.report.figures import Report
from cs.history.report.fold import ReportFold
from cs.history.report.making import TOP, report_of
from cs.history.report.period import Period
from cs.history.report.search_counts import FINISHES
from cs.keystore.port import KeyStore
from cs.runtime.lru import LruDict

#: Read before the period: runs and searches that end in it began at most so long before, if
#: the service ran.
LEAD_IN = timedelta(hours=1)


async def make_report(
    log: EventLog,
    keys: KeyStore,
    period: Period,
    *,
    prices: Mapping[str, Decimal] | None = None,
    top: int = TOP,
    progress: Progress = lambda _position, _upto: None,
) -> Report:
    """Return the figures of *period*.

    The same log and the same period give the same report.  Verdicts, and the sources of
    people, are sealed: they are opened in memory, and nothing of a person is returned.

    Args:
        log: It is read once, from `LEAD_IN` before the period to its end; single streams are
            read besides for the labels of keys, and the ages of results reused.
        keys: Open what is sealed.
        period: What is counted.
        prices: Of one question to a source or verifier, by its name.
        top: So many of the busiest.
        progress: Told how far reading is, in positions.

    Raises:
        LogUnavailable: Log or keys are away.
    """
    history, reader = History(log), _EventReader(log, keys)
    fold = ReportFold(period)
    head = await log.head()
    upto = min(await history.position_at(period.until), head)
    after = min(await history.position_at(period.since - LEAD_IN), upto)
    finishes = _Finishes(log)
    while after < upto:
        end = min(after + WINDOW, upto)
        for stream, event in await reader.events(after, end):
            fold.apply(stream, event)
        for lookup, reused_at in fold.searches.ages_wanted:
            fold.searches.tell_age(await finishes.of(lookup), reused_at)
        fold.searches.ages_wanted.clear()
        after = end
        progress(after, upto)
    labels = {key: await _label(log, key) for key, _ in fold.searches.keys.top(top)}
    queries = {stream: await _query(log, stream) for stream, _ in fold.searches.brands.top(top)}
    return report_of(
        fold,
        upto=head,
        left_out=reader.left_out,
        labels=labels,
        queries=queries,
        prices=prices or {},
        top=top,
    )


class _EventReader:
    """Reads events, and counts those that cannot be."""

    def __init__(self, log: EventLog, keys: KeyStore) -> None:
        self._log = log
        self._keys = keys
        self.left_out: dict[str, int] = {}

    async def events(self, after: int, upto: int) -> Sequence[tuple[str, ReportEvent]]:
        """Return the stream of each event after *after*, up to *upto*, and the event."""
        rows = await self._log.select(EVERYTHING, after, upto)
        if len(rows) < upto - after:
            self._leave_out("missing", upto - after - len(rows))
        to_open = [row for row in rows if _is_opened(row)]
        states = await opened(self._keys, to_open)
        opened_at = {row.position: each for row, each in zip(to_open, states, strict=True)}
        read = ((row.stream, self._event(row, opened_at)) for row in rows)
        return [(stream, event) for stream, event in read if event is not None]

    def _event(
        self, row: SealedEvent, opened_at: Mapping[int, bytes | None]
    ) -> ReportEvent | None:
        event = event_of(row.topic)
        if event is None:
            is_newer = TOPIC.fullmatch(str(row.topic)) is not None
            self._leave_out("newer" if is_newer else "damaged")
            return None
        try:
            if row.position in opened_at:
                state = opened_at[row.position]
                if state is None:
                    self._leave_out("damaged")
                    return None
                whole = decode(row.topic, state)
                return whole if isinstance(whole, Opened) else slim_of(whole)
            return slim(event, row.state) if event in SLIM else None
        except DAMAGED:
            self._leave_out("damaged")
            return None

    def _leave_out(self, why: str, events: int = 1) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + events


def _is_opened(row: SealedEvent) -> bool:
    """Return whether all of *row* is read: also of another version, which is upcast."""
    event = event_of(row.topic)
    return event in OPENED or (event in SLIM and row.topic not in TOPICS)


class _Finishes:
    """When runs finished that were over before reading began."""

    def __init__(self, log: EventLog) -> None:
        self._history = History(log)
        self._known = LruDict[str, datetime | None](FINISHES)

    async def of(self, lookup: str) -> datetime | None:
        """Return when *lookup* finished; ``None`` if that cannot be read."""
        if lookup not in self._known:
            self._known[lookup] = None
            try:
                async for recorded in self._history.stream(stream_of(lookup)):
                    if isinstance(recorded.event, LookupFinished):
                        self._known[recorded.event.lookup] = recorded.event.at
            except (DamagedEvent, NewerEvent):
                pass  # what stands before it counts
        return self._known.use(lookup)


async def _label(log: EventLog, key: str) -> str:
    first = await _first(log, f"key-{key}")
    return first.label if isinstance(first, KeyIssued) else ""


async def _query(log: EventLog, stream: str) -> Query | None:
    first = await _first(log, stream)
    return first.query if isinstance(first, LookupStarted) else None


async def _first(log: EventLog, stream: str) -> object:
    try:
        found = await log.read(stream, limit=1)
    except (DamagedEvent, NewerEvent):
        return None
    return found[0].event if found else None
