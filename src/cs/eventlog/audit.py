"""Is this log one that our rules could have written?  The checker behind ``cs log verify``.

Independent of the code that decides: it knows what is promised, not how that is done, and
reads the events alone.  Memory grows with the streams and unsettled searches, not with
the events.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.key import (
    KeyIssued,
    KeyLimited,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
)
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import NO_STREAM, RecordedEvent

Kind = Literal[
    "position",  # not one more than the event before
    "version",  # a gap or a repetition within a stream
    "time",  # earlier than the event before in its key or brand stream
    "key",  # a search on a key that was never issued
    "admitted-twice",
    "settled-twice",
    "settled-unknown",  # never admitted with that key
    "charge",  # charged without an outcome done, or done without a charge
    "outcome",  # not how its lookup ended, or its lookup had not ended
    "quota",  # more used and reserved than granted
    "minute",  # more than 6, or the key's own limit, within a minute
    "day",  # more than 60, or the key's own limit, within 24 hours
    "in-flight",  # more than 2 at once
    "lookup-twice",  # two live lookups of one brand at once
    "finished-twice",  # a lookup that ended again, or never started
    "verified",  # an outcome done without a verified e-mail, or the other way round
    "damaged",  # it cannot be read; of its stream nothing more is checked
    "unsettled",  # a search whose lookup ended waits still (only in a log at rest)
]

# Contract text 8, written again on purpose: the checker shares no rule with the domain.
_MINUTE, _DAY = timedelta(seconds=60), timedelta(hours=24)
_IN_FLIGHT = 2


class Violation(msgspec.Struct, frozen=True):
    """One broken promise; ``position`` is of the event that broke it, 0 for none.

    Four kinds are found by the reader of the log: ``newer``, an event that only a newer
    version can read, ``key-lost``, people in an event whose data keys are lost, ``snapshot``, a
    state that the events of its stream do not fold to, and ``restored``, a log that is older
    than what the key store saw of it.
    """

    kind: Kind | Literal["newer", "key-lost", "snapshot", "restored"]
    position: int
    stream: str
    what: str


@dataclass
class _Key:
    quota: int = 0
    per_minute: int = 6
    per_day: int = 60
    used: int = 0
    live: dict[str, str] = field(default_factory=dict)  # unsettled search -> lookup
    counted: deque[datetime] = field(default_factory=lambda: deque(maxlen=61))


class Audit:
    """Feed it every event in order of position, then ask for the `end`."""

    def __init__(self) -> None:
        self.events = 0
        self._position = 0
        self._versions: dict[str, int] = {}
        self._times: dict[str, datetime] = {}
        self._keys: dict[str, _Key] = {}
        self._live: dict[str, str] = {}  # brand stream -> lookup
        self._ended: dict[str, str] = {}  # lookup -> outcome
        self._searches: set[str] = set()
        self._settled: set[str] = set()
        self._damaged: set[str] = set()  # streams

    def check(self, recorded: RecordedEvent) -> Iterator[Violation]:  # noqa: C901 - a match
        """Yield what *recorded* breaks."""

        def broken(kind: Kind, what: str) -> Violation:
            return Violation(kind, recorded.position, recorded.stream, what)

        self.events += 1
        if isinstance(recorded, UnreadableEvent):
            yield broken("damaged", recorded.why)
            self._damaged.add(recorded.stream)
            self._position = recorded.position
            if recorded.stream:
                self._versions[recorded.stream] = recorded.version
            return
        for kind, what in self._order(recorded):
            yield broken(kind, what)
        if recorded.stream in self._damaged:
            return  # what it follows is not known
        match recorded.event:
            case KeyIssued(quota=quota):
                self._keys[recorded.stream] = _Key(quota)
            case QuotaGranted(units=units):
                self._key(recorded.stream).quota += units
            case KeyLimited(per_minute=per_minute, per_day=per_day):
                key = self._key(recorded.stream)
                key.per_minute, key.per_day = per_minute, per_day
            case SearchAdmitted() | SearchRepeated() | SearchSettled():
                if recorded.stream not in self._keys:
                    yield broken("key", "this key was never issued")
                for kind, what in self._search(recorded, self._key(recorded.stream)):
                    yield broken(kind, what)
            case LookupStarted() | LookupFinished():
                for kind, what in self._lookup(recorded.stream, recorded.event):
                    yield broken(kind, what)
            case _:
                pass

    def end(self) -> Iterator[Violation]:
        """Yield what is wrong with a log at rest: nothing runs and nothing appends."""
        for stream, key in self._keys.items():
            for search, lookup in key.live.items():
                if lookup in self._ended and stream not in self._damaged:
                    yield Violation("unsettled", 0, stream, f"{search} of {lookup}")

    @property
    def unfinished(self) -> int:
        """Searches that are not settled."""
        return sum(len(key.live) for key in self._keys.values())

    def _order(self, recorded: RecordedEvent) -> Iterator[tuple[Kind, str]]:
        """Yield what is wrong with the event's position, version and time."""
        if recorded.position != self._position + 1:
            yield "position", f"follows position {self._position}"
        self._position = recorded.position
        expected = self._versions.get(recorded.stream, NO_STREAM) + 1
        if recorded.version != expected:
            yield "version", f"version {recorded.version}, expected {expected}"
        self._versions[recorded.stream] = recorded.version
        at = recorded.event.at
        before = self._times.setdefault(recorded.stream, at)
        if at < before:
            yield "time", f"{at.isoformat()} after {before.isoformat()}"
        self._times[recorded.stream] = at

    def _key(self, stream: str) -> _Key:
        return self._keys.setdefault(stream, _Key())

    def _search(self, recorded: RecordedEvent, key: _Key) -> Iterator[tuple[Kind, str]]:
        event = recorded.event
        if isinstance(event, SearchSettled):
            yield from self._settle(event, key)
        elif isinstance(event, SearchAdmitted):
            if event.search in self._searches:
                yield "admitted-twice", event.search
            self._searches.add(event.search)
            # A search answered from reuse is settled by the very next event: it never
            # takes a place in flight, but what it takes of the windows counts.
            key.live[event.search] = event.lookup
            yield from self._count(event.by_clock, key)
            if event.lookup not in self._ended and len(key.live) > _IN_FLIGHT:
                yield "in-flight", f"{len(key.live)} at once"
            if key.used + len(key.live) > key.quota and event.lookup not in self._ended:
                yield "quota", f"{key.used} used, {len(key.live)} reserved of {key.quota}"
        else:
            yield from self._count(recorded.event.by_clock, key)

    def _settle(self, event: SearchSettled, key: _Key) -> Iterator[tuple[Kind, str]]:
        if event.search in self._settled:
            yield "settled-twice", event.search
        elif key.live.pop(event.search, None) is None:
            yield "settled-unknown", event.search
        self._settled.add(event.search)
        if event.charged != (event.outcome == "done"):
            yield "charge", f"{event.search}: {event.outcome}, charged: {event.charged}"
        ended = self._ended.get(event.lookup)
        unread = "" in self._damaged or stream_of(event.lookup) in self._damaged
        if ended != event.outcome and not unread:
            yield "outcome", f"{event.search}: {event.outcome}, its lookup: {ended or 'runs'}"
        key.used += event.charged
        if key.used > key.quota:
            yield "quota", f"{key.used} used of {key.quota}"

    def _count(self, at: datetime, key: _Key) -> Iterator[tuple[Kind, str]]:
        while key.counted and key.counted[-1] > at:
            key.counted.pop()  # stored by a clock that was wrong: it counts no more
        key.counted.append(at)
        windows: tuple[tuple[Kind, int, timedelta], ...] = (
            ("minute", key.per_minute, _MINUTE),
            ("day", key.per_day, _DAY),
        )
        for kind, limit, span in windows:
            inside = sum(when > at - span for when in key.counted)
            if inside > limit:
                yield kind, f"{inside} within {span}"

    def _lookup(
        self, stream: str, event: LookupStarted | LookupFinished
    ) -> Iterator[tuple[Kind, str]]:
        if isinstance(event, LookupStarted):
            if stream in self._live:
                yield "lookup-twice", f"{event.lookup} while {self._live[stream]} is live"
            self._live[stream] = event.lookup
            return
        if self._live.pop(stream, None) != event.lookup:
            yield "finished-twice", event.lookup
        self._ended[event.lookup] = event.outcome
        if (event.outcome == "done") != (event.verified > 0):
            yield "verified", f"{event.outcome} with {event.verified} verified"
