"""Runs, searches and keys of a part of the history, each of them whole: the one loader.

A part is what a `Selection` chooses, a period or some brands for example.  A run or a search
that the part only touches, because it began before or because a search was answered from it,
is read in a second pass, so that it is yielded as if the part held all of it.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactsErased, LookupEvent, LookupFinished
from cs.domain.codec import decode, event_of
from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
)
from cs.domain.person import PersonErased
from cs.eventlog.errors import DamagedEvent, NewerEvent
from cs.eventlog.mapper import TOPIC
from cs.eventlog.port import NO_STREAM, EventLog, RecordedEvent
from cs.eventlog.stored_cause import cause_in
from cs.history.history import History, HistoryEvent, Progress, damaged, unseen
from cs.history.opening import DAMAGED, opened
from cs.history.runs import Run, RunFold
from cs.history.selection import Selection
from cs.keystore.port import KeyStore

#: Streams that are chosen one by one in the second pass; of more, all are read and left out.
STREAMS = 500
#: After these, data keys in memory may be destroyed ones.
_FORGETTING = (PersonErased, ContactsErased)

#: Called with an event that cannot be read; what it raises ends the loading.
Unreadable = Callable[[DamagedEvent | NewerEvent], None]


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """One search.

    Attributes:
        position, asked_at: Of the event that admitted it.
        brand: As it was shown to the caller; `asked_brand`, `asked_domain`: as it was asked.
        lookup: The run that answers it.
        request: The id of its call.
        repeats: How often it was asked for again while it ran.
        settled_position, settled_at: Of the event that ended it; ``None``: it runs.
        cached: Whether an earlier run answered it.
    """

    search: str
    key: str
    brand: str
    asked_brand: str | None
    asked_domain: str | None
    lookup: str
    position: int
    asked_at: datetime
    request: str | None
    idempotent: bool
    repeats: int = 0
    settled_position: int | None = None
    settled_at: datetime | None = None
    outcome: str | None = None
    charged: bool | None = None
    cached: bool | None = None


class KeyAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An API key and its quota, folded from its events.

    Attributes:
        position, issued_at: Of the event that made it.
        quota: Units that it was issued with and granted.
        used, reserved: Units charged, and held by searches that run.
        searches: Searches that were admitted.
        rotated: How often it got a new secret.
    """

    key: str
    label: str
    position: int
    issued_at: datetime
    quota: int
    used: int = 0
    reserved: int = 0
    searches: int = 0
    rotated: int = 0
    revoked_at: datetime | None = None
    last_search_at: datetime | None = None


class LoadedEvent(NamedTuple):
    """An event of the part, as it is stored and as it reads."""

    stored: HistoryEvent
    recorded: RecordedEvent


class Loaded(NamedTuple):
    """What some positions of the part gave.

    Attributes:
        events: Its events, in order.
        runs: Runs that ended there; in the last one also those that have not ended.
        searches: Searches that were settled there; in the last one also those that run.
        keys: In the last one the keys, as they stand at its end.
        lost: People whose data key is lost, ``<lookup>#p1``: they read as if erased.
    """

    events: Sequence[LoadedEvent] = ()
    runs: Sequence[Run] = ()
    searches: Sequence[Search] = ()
    keys: Sequence[KeyAccount] = ()
    lost: frozenset[str] = frozenset()


def refuse(error: DamagedEvent | NewerEvent) -> None:
    """Raise *error*: what cannot be read ends the loading."""
    raise error


async def load(
    log: EventLog,
    keys: KeyStore,
    selection: Selection,
    *,
    unreadable: Unreadable = refuse,
    progress: Progress = unseen,
) -> AsyncIterator[Loaded]:
    """Yield the part *selection* of the history in order, a few thousand positions at a time.

    In memory are the runs and searches that are open at one time, the keys, and the ids of the
    part's runs.

    Raises:
        LogUnavailable: The log or the key store cannot be read now.
        DamagedEvent, NewerEvent: As *unreadable* raises them.
    """
    history = History(log)
    first = _Fold()
    async for events, lost in _read(history, keys, selection, unreadable, progress):
        yield Loaded(events, *first.add(events), lost=lost)
    wanted = first.wanted(complete=selection.is_everything)
    before = _Fold(wanted)
    if wanted:
        whole = Selection(
            streams=wanted.streams,
            categories=() if wanted.streams else ("brand", "key"),
            upto=selection.upto,
            until=selection.until,
        )
        async for events, lost in _read(history, keys, whole, unreadable, progress):
            yield Loaded((), *before.add(events), lost=lost)
    runs = [*first.open_runs(), *before.open_runs()]
    searches = [*first.open_searches(), *before.open_searches()]
    yield Loaded(runs=runs, searches=searches, keys=[*first.keys(), *before.keys()])


async def _read(
    history: History,
    keys: KeyStore,
    selection: Selection,
    unreadable: Unreadable,
    progress: Progress,
) -> AsyncIterator[tuple[list[LoadedEvent], frozenset[str]]]:
    """Yield the events of *selection*, people opened, and whose keys are lost."""
    async for _, page in history.pages(selection, progress, unreadable):
        if any(event_of(each.topic) in _FORGETTING for each in page):
            keys.forget()
        lost = set[str]()
        states = await opened(keys, page, lost)
        events = []
        for stored, state in zip(page, states, strict=True):
            try:
                events.append(LoadedEvent(stored, _recorded(stored, state)))
            except (DamagedEvent, NewerEvent) as error:
                unreadable(error)
        yield events, frozenset(lost)


def _recorded(stored: HistoryEvent, state: bytes | None) -> RecordedEvent:
    if event_of(stored.topic) is None:
        if TOPIC.fullmatch(stored.topic):
            raise NewerEvent(stored.position, stored.stream, stored.topic)
        raise damaged(stored, LookupError())
    try:
        if state is None:
            raise ValueError
        event, cause = decode(stored.topic, state), cause_in(stored.state)
    except DAMAGED as error:
        raise damaged(stored, error) from error
    return RecordedEvent(stored.position, stored.stream, stored.version, event, cause)


class _Wanted(NamedTuple):
    """What a part touches and does not hold all of."""

    lookups: frozenset[str]
    searches: frozenset[str]
    keys: frozenset[str]

    def __bool__(self) -> bool:
        return any(self)

    @property
    def streams(self) -> tuple[str, ...]:
        """Where it is; nothing where that is too many."""
        found = {*map(stream_of, self.lookups), *self.keys}
        return tuple(sorted(found)) if len(found) <= STREAMS else ()


class _Fold:
    """Folds events into runs, searches and keys.

    Args:
        only: What is folded; ``None``: everything.
    """

    def __init__(self, only: _Wanted | None = None) -> None:
        self._only = only
        self._runs: dict[str, RunFold] = {}
        self._begun: set[str] = set()  # all that were seen from their start
        self._referred: set[str] = set()  # lookups that searches name
        self._touched: set[str] = set()  # lookups that were not
        self._searches: dict[str, Search] = {}
        self._late: set[str] = set()  # searches that were not seen from their start
        self._keys: dict[str, _KeyFold] = {}

    def add(self, events: Sequence[LoadedEvent]) -> tuple[list[Run], list[Search]]:
        """Return the runs that ended and the searches that were settled in *events*."""
        runs, searches = list[Run](), list[Search]()
        for _, recorded in events:
            event = recorded.event
            if isinstance(event, LookupEvent):
                if self._takes_lookup(event.lookup):
                    runs += self._of_lookup(recorded, event)
            elif recorded.stream.startswith("key-") and self._takes_key(recorded):
                searches += self._of_key(recorded)
        return runs, searches

    def _takes_lookup(self, lookup: str) -> bool:
        return self._only is None or lookup in self._only.lookups

    def _takes_key(self, recorded: RecordedEvent) -> bool:
        return self._only is None or recorded.stream in self._only.keys

    def _of_lookup(self, recorded: RecordedEvent, event: LookupEvent) -> Iterator[Run]:
        fold = self._runs.get(event.lookup)
        if fold is not None:
            fold.add(recorded)
            if isinstance(event, LookupFinished):
                yield self._runs.pop(event.lookup).run()
        elif (begun := RunFold.begun_by(recorded)) is not None:
            self._runs[event.lookup] = begun
            self._begun.add(event.lookup)
        elif event.lookup not in self._begun:
            self._touched.add(event.lookup)

    def _of_key(self, recorded: RecordedEvent) -> Iterator[Search]:
        key, event = recorded.stream.removeprefix("key-"), recorded.event
        self._keys.setdefault(recorded.stream, _KeyFold(key)).add(recorded)
        match event:
            case SearchAdmitted():
                self._referred.add(event.lookup)
                self._searches[event.search] = _admitted(key, recorded, event)
            case SearchRepeated():
                known = self._searches.get(event.search)
                if known is not None:
                    self._searches[event.search] = replace(known, repeats=known.repeats + 1)
                else:
                    self._late.add(event.search)
            case SearchSettled():
                self._referred.add(event.lookup)
                known = self._searches.pop(event.search, None)
                if known is None:
                    self._late.add(event.search)
                elif self._only is None or event.search in self._only.searches:
                    yield replace(
                        known,
                        settled_position=recorded.position,
                        settled_at=event.at,
                        outcome=event.outcome,
                        charged=event.charged,
                        cached=event.cached,
                    )
            case _:
                pass

    def wanted(self, *, complete: bool) -> _Wanted:
        """Return what has to be read besides; *complete*: everything there is was added."""
        referred = set() if complete else self._referred - self._begun
        return _Wanted(
            lookups=frozenset(self._touched | referred),
            searches=frozenset(self._late),
            keys=frozenset(name for name, key in self._keys.items() if key.account is None),
        )

    def open_runs(self) -> Iterator[Run]:
        return (fold.run() for fold in self._runs.values())

    def open_searches(self) -> Iterator[Search]:
        return (
            search
            for search in self._searches.values()
            if self._only is None or search.search in self._only.searches
        )

    def keys(self) -> Iterator[KeyAccount]:
        return (key.account for key in self._keys.values() if key.account is not None)


class _KeyFold:
    """A key while its events are read; without an account once one of them is missing."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._version = NO_STREAM
        self.account: KeyAccount | None = None

    def add(self, recorded: RecordedEvent) -> None:
        is_next = recorded.version == self._version + 1
        self._version = recorded.version
        event, known = recorded.event, self.account
        if isinstance(event, KeyIssued) and is_next:
            self.account = KeyAccount(
                key=self._key,
                label=event.label,
                position=recorded.position,
                issued_at=event.at,
                quota=event.quota,
            )
        elif known is not None:
            self.account = replace(known, **_changed(known, event)) if is_next else None


def _changed(known: KeyAccount, event: object) -> Mapping[str, object]:
    """Return the fields of *known* that *event* changes."""
    match event:
        case QuotaGranted():
            return {"quota": known.quota + event.units}
        case KeyRotated():
            return {"rotated": known.rotated + 1}
        case KeyRevoked():
            return {"revoked_at": known.revoked_at or event.at}
        case SearchAdmitted():
            return {
                "reserved": known.reserved + 1,
                "searches": known.searches + 1,
                "last_search_at": event.at,
            }
        case SearchSettled():
            return {"reserved": known.reserved - 1, "used": known.used + event.charged}
        case _:
            return {}


def _admitted(key: str, recorded: RecordedEvent, event: SearchAdmitted) -> Search:
    return Search(
        search=event.search,
        key=key,
        brand=event.brand,
        asked_brand=event.query.brand,
        asked_domain=event.query.domain,
        lookup=event.lookup,
        position=recorded.position,
        asked_at=event.at,
        request=event.request,
        idempotent=event.idempotency is not None,
    )
