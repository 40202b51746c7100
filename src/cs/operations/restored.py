"""Noticing a log that was restored from a backup, and what it lacks.

The key store remembers how far the log was (`cs.keystore.recovery`); so do the views of a data
folder.  A log that does not have the event that they saw is not the one that answered callers:
no process works on it until an operator has seen what is missing and accepts it, which begins a
new epoch.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import msgspec

from cs.domain.brand.events import LookupStarted
from cs.domain.codec import every_version
from cs.domain.key import SearchAdmitted
from cs.eventlog.mapper import recorded
from cs.eventlog.port import (
    EVERYTHING,
    NOBODY,
    DamagedEvent,
    EventLog,
    LogUnavailable,
    NewerEvent,
)
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.keystore.recovery import ErasureEntry, LogMark
from cs.operations.brand_streams import lookups_of
from cs.projections.searches import SEARCHES, result_key
from cs.projections.views import UNREADABLE, Views, named
from cs.runtime.clock import Clock

#: How often each process looks: after a crash the key store is at most so far behind the log.
LOOK_EVERY_S = 2.0
#: Time limit of the look of a process that ends.
LAST_LOOK_S = 5.0
#: Events read at once, and rows of views.
PAGE = 5_000
_ACCEPT = (
    "`cs restore accept --dry-run` lists what is missing, `cs restore accept` goes on with it"
)


class LogBehind(Exception):
    """The log is older than what its neighbours saw of it, or another one."""


class Neighbour(msgspec.Struct, frozen=True):
    """A store that saw an event which the log does not have."""

    store: str
    position: int
    event: str
    seen_at: str | None = None

    def sentence(self, head: int) -> str:
        when = f" at {self.seen_at}" if self.seen_at else ""
        return (
            f"the {self.store} saw position {self.position}{when}, and the log, which ends at "
            f"{head}, does not have that event"
        )


async def neighbours_ahead(
    log: EventLog, keys: KeyStore, views: Views | None = None
) -> Sequence[Neighbour]:
    """Return the stores that saw an event which *log* does not have.

    Raises:
        LogUnavailable, KeysUnavailable: The log or the key store cannot be read now.
    """
    seen = list[Neighbour]()
    if (mark := await keys.recovery.mark()) is not None:
        seen.append(Neighbour("key store", mark.position, mark.event, mark.seen_at))
    if views is not None:
        with suppress(LogUnavailable):  # they are rebuilt
            seen.append(Neighbour("views", *await views.checkpoint()))
    return [each for each in seen if not await _has(log, keys, each)]


async def _has(log: EventLog, keys: KeyStore, seen: Neighbour) -> bool:
    if not seen.position:
        return True
    try:
        found = await _name_at(log, keys, seen.position)
    except NewerEvent:  # which only a process of that version can name
        return True
    return found == seen.event or (found is not None and UNREADABLE in {found, seen.event})


async def _name_at(log: EventLog, keys: KeyStore, position: int) -> str | None:
    """Return the name of the event that is stored at *position*; ``None``: there is none.

    It is read from the store, not from what this process has in memory of a log that may have
    been replaced since.

    Raises:
        LogUnavailable, NewerEvent: As `EventLog.tail`.
    """
    rows = await log.select(EVERYTHING, position - 1, position)
    try:
        for each in await recorded(keys, rows, NOBODY) if rows else ():
            return UNREADABLE if "\ufffd" in each.stream else named(each)
    except DamagedEvent:
        return UNREADABLE
    return UNREADABLE if await log.head() > position else None  # a gap is damage


async def look(log: EventLog, keys: KeyStore, clock: Clock, views: Views | None = None) -> int:
    """Let the key store remember how far *log* is; return the epoch.

    Raises:
        LogBehind: A neighbour saw more of it, or the key store is older than an erasure.
        LogUnavailable, KeysUnavailable: As `neighbours_ahead`.
    """
    mark = await keys.recovery.mark()
    now = await newest(log, keys, clock, 1 if mark is None else mark.epoch)
    # Only then: else a log that is replaced in between would move the mark.
    for each in await neighbours_ahead(log, keys, views):
        raise LogBehind(f"{each.sentence(await log.head())}: a backup was restored; {_ACCEPT}")
    if now is not None and (mark is None or now.position > mark.position):
        await keys.recovery.advance(now)
    return 1 if mark is None else mark.epoch


async def newest(log: EventLog, keys: KeyStore, clock: Clock, epoch: int) -> LogMark | None:
    """Return the mark of the end of *log*; ``None`` if it is empty, or cannot be named."""
    head = await log.head()
    try:
        name = await _name_at(log, keys, head) if head else None
    except NewerEvent:
        return None
    return None if name is None else LogMark(epoch, head, name, clock.now().isoformat())


async def check_restored(
    log: EventLog, keys: KeyStore, clock: Clock, views: Views | None = None
) -> int:
    """Pass if a service may start on *log*; return the epoch.

    Raises:
        LogBehind, LogUnavailable, KeysUnavailable: As `look`.
    """
    epoch = await look(log, keys, clock, views)
    unknown = await keys.recovery.compare_journal()
    if missing := [each for each in unknown if not await _is_done(keys, each)]:
        raise LogBehind(
            f"the key store lacks {len(missing)} erasures that are in {keys.recovery.journal}: "
            f"a backup was restored; {_ACCEPT}"
        )
    return epoch


async def _is_done(keys: KeyStore, entry: ErasureEntry) -> bool:
    """Return whether the person of *entry* is suppressed, and no key of theirs is left."""
    if entry.lifted or not await keys.suppressed([entry.id]):
        return False
    prints = [entry.id, *entry.prints]
    return not await keys.find(await keys.matching(prints) | set(entry.names))


async def begin_epoch(log: EventLog, keys: KeyStore, clock: Clock) -> int:
    """Let the key store remember *log* as it is now, in the place of another; return the epoch.

    Raises:
        LogUnavailable, KeysUnavailable: As `neighbours_ahead`.
    """
    mark = await keys.recovery.mark()
    epoch = 1 if mark is None else mark.epoch + 1
    now = await newest(log, keys, clock, epoch)
    empty = LogMark(epoch, 0, "", clock.now().isoformat())
    await keys.recovery.accept(now or empty)
    return epoch


@asynccontextmanager
async def looking(
    log: EventLog, keys: KeyStore, clock: Clock, epoch: int
) -> AsyncIterator[None]:
    """Look at *log*, which began as *epoch*, every `LOOK_EVERY_S` until left, and then.

    Raises:
        LogBehind: It was replaced, or an operator accepted another one meanwhile: what this
            process knows is of another history.
    """
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(_look_on(log, keys, clock, epoch), name="log-mark")
        try:
            yield
        finally:
            task.cancel()
            # A second cancellation leaves it out, and the mark as after a crash.
            with suppress(LogBehind, LogUnavailable, KeysUnavailable, TimeoutError):
                async with asyncio.timeout(LAST_LOOK_S):
                    await look(log, keys, clock)


async def _look_on(log: EventLog, keys: KeyStore, clock: Clock, epoch: int) -> NoReturn:
    while True:
        with suppress(LogUnavailable, KeysUnavailable):
            if await look(log, keys, clock) != epoch:
                raise LogBehind(
                    "a restored log was accepted (`cs restore accept`) while this process ran "
                    "on the one before; start it again"
                )
        await asyncio.sleep(LOOK_EVERY_S)


class Missing(msgspec.Struct, frozen=True):
    """One thing that a neighbour knows and the log does not.

    Attributes:
        kind: ``lookup``, ``search``, ``paid-call`` or ``erasure``.
        id: Of the lookup, search or person.
        known_by: The store.
        what: The details, for people.
    """

    kind: str
    id: str
    known_by: str
    what: str


#: Returns the providers of the remembered paid calls, by lookup.
Calls = Callable[[], Awaitable[Sequence[tuple[str, str]]]]


async def missing(
    log: EventLog, keys: KeyStore, views: Views, calls: Calls | None
) -> Sequence[Missing]:
    """Return what the key store, views and paid calls know and *log* does not.

    Raises:
        LogUnavailable, KeysUnavailable: One of them cannot be read.
    """
    lookups, searches = await _in_log(log)
    held = Counter[str]()
    async for page in keys.recovery.names():
        for name in page:
            if "#" in name:
                (lookup,) = lookups_of([name])
            else:
                lookup = name.removeprefix(result_key("")).partition("@")[0]
            held[lookup] += lookup not in lookups
    found = [
        Missing("lookup", lookup, "key store", f"{count} data keys")
        for lookup, count in held.items()
        if count
    ]
    found += [
        Missing("paid-call", lookup, "paid calls", f"asked {provider}")
        for lookup, provider in (await calls() if calls is not None else ())
        if lookup not in lookups
    ]
    with suppress(LogUnavailable):  # views that are rebuilt know nothing more
        after = ""
        while rows := (await views.page(SEARCHES, after, PAGE))[1]:
            for each in rows:
                row = SEARCHES.decode(each.row)
                if each.row_id not in searches:
                    charged = "charged" if row.charged else "not charged"
                    what = f"{row.status}, {charged}, key {row.key_id}"
                    found.append(Missing("search", each.row_id, "views", what))
            after = rows[-1].row_id
    return found


class _Named(msgspec.Struct):
    lookup: str
    search: str | None = None


async def _in_log(log: EventLog) -> tuple[set[str], set[str]]:
    """Return the lookups and the searches that *log* has."""
    lookups, searches = set[str](), set[str]()
    position = 0
    while page := await log.stored(position, PAGE):
        position = page[-1].position
        for stored in page:
            if not stored.topic.startswith(_NAMING):
                continue
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # `cs log verify` says so
                names = msgspec.json.decode(stored.state, type=_Named)
                lookups.add(names.lookup)
                if names.search is not None:
                    searches.add(names.search)
    return lookups, searches


#: What the topics of the events begin with that name lookups and searches.
_NAMING = (every_version(LookupStarted), every_version(SearchAdmitted))
