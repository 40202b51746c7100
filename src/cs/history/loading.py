"""The loader of runs, searches and keys of a part of the history, each of them whole.

A part is chosen by a `Selection`, for example a period or some brands.  The runs, searches and
keys that it touches may have begun before it, so their streams are read from the beginning.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import LookupEvent, LookupFinished
from cs.domain.causation import AnyCause
from cs.domain.codec import from_plain
from cs.domain.key import (
    CANARY,
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
)
from cs.eventlog.port import EventLog, RecordedEvent
from cs.history.history import (
    History,
    HistoryEvent,
    Progress,
    Unreadable,
    opened,
    pass_over,
    refuse,
    unseen,
)
from cs.history.runs import Run
from cs.history.selection import Selection
from cs.keystore.lost import LostValue
from cs.keystore.port import KeyStore
from cs.projections.source_weeks import WEEKS

#: Streams that are selected by name; if there are more, all of keys and brands are read.
STREAMS = 500


class Search(msgspec.Struct, kw_only=True):
    """One search.

    Attributes:
        position, asked_at: Of the event that admitted it.
        key_label: Of the key; ``None``: the event that made it was not read.
        brand: As it was shown to the caller; `asked_brand`, `asked_domain`: as the caller
            sent it.
        lookup: The run that answers it.
        request: The id of its call.
        repeats: How often the same search was sent again while it ran.
        settled_position, settled_at: Of the event that ended it; ``None`` while it runs.
        cached: Whether an earlier run answered it.
        caused_by, settled_caused_by: The causes of those events; ``None``: not recorded.
    """

    search: str
    key: str
    key_label: str | None
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
    caused_by: AnyCause | None = None
    settled_caused_by: AnyCause | None = None


class KeyAccount(msgspec.Struct, kw_only=True):
    """An API key and its quota, folded from its events.

    Attributes:
        position, issued_at: Of the event that made it.
        quota: Units that it was issued with and granted.
        charged_units, reserved_units: Units charged, and held by searches that run.
        searches: Searches that were admitted.
        rotated: How often it got a new secret.
    """

    key: str
    label: str
    position: int
    issued_at: datetime
    quota: int
    charged_units: int = 0
    reserved_units: int = 0
    searches: int = 0
    rotated: int = 0
    revoked_at: datetime | None = None
    last_search_at: datetime | None = None

    def add(self, event: object) -> None:
        """Apply *event*, the next one of the key."""
        match event:
            case QuotaGranted():
                self.quota += event.units
            case KeyRotated():
                self.rotated += 1
            case KeyRevoked():
                self.revoked_at = self.revoked_at or event.at
            case SearchAdmitted():
                self.reserved_units += 1
                self.searches += 1
                self.last_search_at = event.at
            case SearchSettled():
                self.reserved_units -= 1
                self.charged_units += event.charged
            case _:
                pass


class LoadedEvent(NamedTuple):
    """An event of the part, as it is stored and as it reads."""

    stored: HistoryEvent
    recorded: RecordedEvent


class Loaded(NamedTuple):
    """A page of what was read.

    Attributes:
        events: Events of the part, in order.
        runs: Runs that ended there; in the last page also those that have not ended.
        searches: Searches that were settled there; in the last page also those that run.
        keys: In the last page the keys, as they stand at the end of the part.
        lost: People whose data key is lost, ``<lookup>#p1``: they read as if erased.
    """

    events: Sequence[LoadedEvent] = ()
    runs: Sequence[Run] = ()
    searches: Sequence[Search] = ()
    keys: Sequence[KeyAccount] = ()
    lost: frozenset[str] = frozenset()


async def load(
    log: EventLog,
    keys: KeyStore,
    selection: Selection,
    *,
    canary: bool = True,
    unreadable: Unreadable = refuse,
    progress: Progress = unseen,
) -> AsyncIterator[Loaded]:
    """Yield the part *selection* of the history, a few thousand positions at a time.

    In memory are the runs and searches that are open at one time, the keys, and the ids of
    what the part touches.  Without *canary* searches of such a key, and runs that they
    started, are left out.

    Raises:
        LogUnavailable: The log or the key store cannot be read now.
        DamagedEvent, NewerEvent: As *unreadable* raises them.
    """
    history, touched = History(log), _Touched()
    fold = Fold(frozenset() if canary else await _canary_keys(history, keys))
    if selection.is_everything:
        async for events, lost in _read(history, keys, selection, unreadable, progress):
            yield Loaded(events, *fold.add(events), lost=lost)
        yield fold.rest()
        return
    async for events, lost in _read(history, keys, selection, unreadable, progress):
        touched.add(events)
        yield Loaded(events, lost=lost)
    whole = touched.selection(selection)
    async for events, lost in _read(history, keys, whole, unreadable, progress):
        yield touched.of(Loaded((), *fold.add(events), lost=lost))
    yield touched.of(fold.rest())


class PastRun(msgspec.Struct, frozen=True):
    """The cost of a live run in millionths of a dollar, and whether it was charged for."""

    micros: int
    verified: bool


async def past_runs(log: EventLog, keys: KeyStore, now: datetime) -> Sequence[PastRun]:
    """Return the live runs that ended in the last `WEEKS` weeks and recorded their costs.

    Raises:
        LogUnavailable: The log or the key store is away.
    """
    recent = Selection(types=("brand.lookup-finished",), since=now - timedelta(weeks=WEEKS))
    found = []
    async for page in load(log, keys, recent, canary=False, unreadable=pass_over):
        for run in page.runs:
            costs = [cost.micros for attempt in run.attempts for cost in attempt.costs]
            if costs and run.finished_at is not None:
                found.append(PastRun(sum(costs), bool(run.verified_then)))
    return found


async def _canary_keys(history: History, keys: KeyStore) -> frozenset[str]:
    found = set[str]()
    async for page in history.pages(Selection(types=("key.issued",)), unreadable=pass_over):
        for each in await opened(keys, page, pass_over):
            if isinstance(each.event, KeyIssued) and each.event.label == CANARY:
                found.add(each.stream.removeprefix("key-"))
    return frozenset(found)


async def searches(
    history: History, selection: Selection, progress: Progress = unseen
) -> AsyncIterator[Search]:
    """Yield the searches of *selection* in the order in which they ended; then those that run.

    In memory are the searches that run at one time.

    Raises:
        LogUnavailable, DamagedEvent: The log cannot be read.
    """
    fold, types = Fold(), ("search-admitted", "search-repeated", "search-settled")
    async for event in history.events(replace(selection, types=types), progress):
        said = from_plain(event.topic, event.data())
        for each in fold.of_key(RecordedEvent(event.position, event.stream, 0, said)):
            yield each
    for each in fold.rest().searches:
        yield each


async def _read(
    history: History,
    keys: KeyStore,
    selection: Selection,
    unreadable: Unreadable,
    progress: Progress,
) -> AsyncIterator[tuple[list[LoadedEvent], frozenset[str]]]:
    """Yield the events of *selection*, people opened, and whose keys are lost."""
    async for page in history.pages(selection, progress, unreadable):
        lost = set[str]()

        def note(value: LostValue, names: set[str] = lost) -> None:
            names.add(value.name)

        keys.forget()  # of people who were erased since
        with keys.lost.listening(note):
            events = await opened(keys, page, unreadable)
        stored = {event.position: event for event in page}
        yield [LoadedEvent(stored[each.position], each) for each in events], frozenset(lost)


class _Touched:
    """Ids of the runs, searches and keys that events of a part are about."""

    def __init__(self) -> None:
        self.lookups = set[str]()
        self.searches = set[str]()
        self.keys = set[str]()

    def add(self, events: Iterable[LoadedEvent]) -> None:
        for stored, recorded in events:
            if stored.lookup is not None:
                self.lookups.add(stored.lookup)
            if stored.stream.startswith("key-"):
                self.keys.add(stored.stream)
                if search := getattr(recorded.event, "search", None):
                    self.searches.add(search)

    def selection(self, part: Selection) -> Selection:
        """Return what holds all of them up to the end of *part*."""
        streams = {*map(stream_of, self.lookups), *self.keys}
        return Selection(
            streams=tuple(sorted(streams)) if len(streams) <= STREAMS else (),
            categories=() if 0 < len(streams) <= STREAMS else ("brand", "key"),
            upto=part.upto if streams else 0,
            until=part.until,
        )

    def of(self, page: Loaded) -> Loaded:
        """Return what of *page* is about them."""
        return page._replace(
            runs=[each for each in page.runs if each.lookup in self.lookups],
            searches=[each for each in page.searches if each.search in self.searches],
            keys=[each for each in page.keys if f"key-{each.key}" in self.keys],
        )


class Fold:
    """Folds events into runs, searches and keys.

    Args:
        left_out: Keys whose searches, and runs that these started, are left out.

    Attributes:
        searches: By id, those that have not been settled.
    """

    def __init__(self, left_out: frozenset[str] = frozenset()) -> None:
        self._left_out = left_out
        self._runs: dict[str, Run] = {}
        self.searches: dict[str, Search] = {}
        self._keys: dict[str, KeyAccount] = {}

    def add(self, events: Sequence[LoadedEvent]) -> tuple[list[Run], list[Search]]:
        """Return the runs that ended and the searches that were settled in *events*."""
        runs, searches = list[Run](), list[Search]()
        for _, recorded in events:
            event = recorded.event
            if isinstance(event, LookupEvent):
                runs += self._of_lookup(recorded, event)
            elif recorded.stream.startswith("key-"):
                searches += self.of_key(recorded)
        return runs, searches

    def _of_lookup(self, recorded: RecordedEvent, event: LookupEvent) -> Iterator[Run]:
        run = self._runs.get(event.lookup)
        if run is not None:
            run.add(recorded)
            if isinstance(event, LookupFinished):
                yield self._runs.pop(event.lookup).explained()
        elif getattr(recorded.caused_by, "key", None) in self._left_out:
            return
        elif (begun := Run.begun_by(recorded)) is not None:
            self._runs[event.lookup] = begun

    def of_key(self, recorded: RecordedEvent) -> Iterator[Search]:
        """Apply *recorded*, the next event of a key; yield the search that it settles."""
        key, event = recorded.stream.removeprefix("key-"), recorded.event
        if isinstance(event, KeyIssued):
            self._keys[key] = KeyAccount(
                key=key,
                label=event.label,
                position=recorded.position,
                issued_at=event.at,
                quota=event.quota,
            )
        account = self._keys.get(key)
        if account is not None:
            account.add(event)
        match event:
            case SearchAdmitted() if key not in self._left_out:
                self.searches[event.search] = _admitted(key, account, recorded, event)
            case SearchRepeated() if event.search in self.searches:
                self.searches[event.search].repeats += 1
            case SearchSettled() if event.search in self.searches:
                yield replace(
                    self.searches.pop(event.search),
                    settled_position=recorded.position,
                    settled_at=event.at,
                    outcome=event.outcome,
                    charged=event.charged,
                    cached=event.cached,
                    settled_caused_by=recorded.caused_by,
                )
            case _:
                pass

    def rest(self) -> Loaded:
        """Return the runs and searches that have not ended, and the keys."""
        runs = [run.explained() for run in self._runs.values()]
        return Loaded((), runs, [*self.searches.values()], [*self._keys.values()])


def _admitted(
    key: str, account: KeyAccount | None, recorded: RecordedEvent, event: SearchAdmitted
) -> Search:
    return Search(
        search=event.search,
        key=key,
        key_label=None if account is None else account.label,
        brand=event.brand,
        asked_brand=event.query.brand,
        asked_domain=event.query.domain,
        lookup=event.lookup,
        position=recorded.position,
        asked_at=event.at,
        request=event.request,
        idempotent=event.idempotency is not None,
        caused_by=recorded.caused_by,
    )
