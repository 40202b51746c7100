"""Answers from the views, for callers and for the process that drives lookups."""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from functools import partial
from weakref import WeakValueDictionary

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.codec import event_of, shapes
from cs.domain.key import Key, KeyIssued, KeyRevoked, KeyRotated, SearchSettled
from cs.domain.messages import Event
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.mapper import recorded
from cs.eventlog.open_work import UnfinishedWork, WaitingSearch
from cs.eventlog.port import (
    NO_STREAM,
    DamagedEvent,
    EventLog,
    LogUnavailable,
    RecordedEvent,
    Where,
)
from cs.eventlog.streams import FoldedState, Streams
from cs.keystore.port import KeyStore
from cs.metrics.metrics import Metrics
from cs.projections.brands import BRANDS, BrandRow
from cs.projections.following import Follower
from cs.projections.search_record import SearchParts, open_contacts, spliced
from cs.projections.searches import RESULTS, SEARCHES, ResultRow, SearchRow
from cs.projections.set_aside import ASIDE, SET_ASIDE, damage_of
from cs.projections.usage import OLD_SECRETS, USAGE, UsageRow
from cs.projections.views import Views
from cs.runtime.lru import LruDict

#: Rows of ended searches in memory, some 300 bytes each; the least recently used goes first.
CACHED = 20_000
#: Events of a key that are read first and applied in memory for one answer; then four times as
#: many, up to `AHEAD`.
FIRST = 16
#: Events by which the views may be behind the log while an answer is made of both; further
#: behind, it waits.
AHEAD = 5_000
#: How long views that are further behind are waited for.
PATIENCE_S = 4.0


class Reusable(msgspec.Struct, frozen=True):
    """The answer to a later search on the same brand.

    Attributes:
        shows_somebody: Whether it holds a verified e-mail.
        body: As that of `SearchParts`; ``None`` if neither views nor log have it.
    """

    shows_somebody: bool
    body: bytes | None = None


class _Address(msgspec.Struct, frozen=True):
    """Of a contact as it is sent: what makes an answer worth a charge."""

    email: str | None


class _Found(msgspec.Struct, frozen=True):
    contacts: list[_Address]


class _Settled:
    """The end of a search that callers wait for, and its position once it is stored."""

    def __init__(self) -> None:
        self.stored = asyncio.Event()
        self.position = 0


class Reading:
    """Answers that reflect every call answered before.

    A search's by its key alone (`search`); a list's as far as the follower has come.

    How a search ended never changes (contract C9), so the row of an ended search is kept in
    memory.  What it found is not: people are erased from that.

    Args:
        events: The log.
        views: Where the rows are.
        follower: Of *views*.
        keys: Open the contacts in an answer.
        metrics: Where what is kept in memory is counted.
        streams: Where callers load the state of a key.
    """

    def __init__(
        self,
        events: EventLog,
        views: Views,
        follower: Follower,
        keys: KeyStore,
        *,
        metrics: Metrics | None = None,
        streams: Streams | None = None,
    ) -> None:
        self._streams = streams or Streams(events)
        self._events = events
        self._views = views
        self._follower = follower
        self._keys = keys
        self._ended = LruDict[str, SearchRow](CACHED)
        self._cache = (metrics or Metrics()).cache(
            "ended-searches", self._ended.__len__, CACHED
        )
        views.on_replaced(self._ended.clear)  # what was read may have been wrong
        self._waits = WeakValueDictionary[str, _Settled]()
        follower.listen(self._wake, (SearchSettled,))

    async def search(
        self, search: str, key_id: str, key: Key | None = None
    ) -> SearchParts | None:
        """Return *search* if it was made with the key *key_id*.

        Its row is right if the views, at that moment, had the newest event of its key; else
        the events of that key which they lack are applied to it, and those of its lookup.  No
        other key's events are read or waited for.

        Args:
            search: Any text.
            key_id: Of the caller.
            key: Its state, as the caller has just read it, if it did.

        Raises:
            LogUnavailable: Log, views or keys are away, or the views too far behind.
        """
        row = self._ended.use(search)
        if key is None or row is None or row.key_id != key_id or _runs(search, key):
            row, key = await self._read(search, key_id, key)
            self._cache.misses.inc()
        else:
            self._cache.hits.inc()
        if row is None or row.key_id != key_id:
            return None
        if row.status == "running":
            return SearchParts(search, row, key, None)
        body = await self._body(row.lookup)
        if body is None:  # a settled search's lookup has finished
            why = "what this search found is damaged, and set aside"
            raise DamagedEvent(0, stream_of(row.lookup), 0, why)
        return SearchParts(search, row, key, body)

    async def _read(
        self, search: str, key_id: str, key: Key | None
    ) -> tuple[SearchRow | None, Key]:
        """Return the row of *search*, and the state of the key with its charge, if any.

        Raises:
            DamagedEvent: The views pass over some of the key's events.
        """
        stream = f"key-{key_id}"
        folded: FoldedState[Key] | None = self._streams.remembered(stream)
        if folded is None or folded.state is not key:
            folded = await self._streams.key(key_id)
        row = await self._row(search, stream, folded)
        if row is None or row.key_id != key_id:
            await self._check_whole(stream)
        elif row.status == "running":
            if not _runs(search, folded.state):
                await self._check_whole(stream)  # the views pass over its end
        else:
            if _runs(search, folded.state):  # it ended since, and that state lacks its charge
                folded = await self._streams.key(key_id)
            self._ended[search] = row
        return row, folded.state

    async def _row(
        self, search: str, stream: str, folded: FoldedState[Key]
    ) -> SearchRow | None:
        """Return the row of *search* that reflects the key's *stream* as *folded* does."""
        for _ in range(2):
            position, row = await self._views.get_at(SEARCHES, search)
            if position >= folded.position or (row is not None and row.status != "running"):
                return row
            newer = await self._newer(stream, folded, position)
            if newer is not None:
                for each in newer:
                    if type(each.event) in SEARCHES.reads and SEARCHES.key(each) == search:
                        row = SEARCHES.fold(row, each)
                return row
            await reached(self._follower, folded.position)
        raise LogUnavailable("the views are rebuilt, and know too little yet")

    async def _newer(
        self, stream: str, folded: FoldedState[Key], position: int
    ) -> Sequence[RecordedEvent] | None:
        """Return the events of *stream* after *position*, up to what is *folded*.

        ``None``: there are more than `AHEAD`.
        """
        count = min(FIRST, AHEAD)
        while count:
            after = max(folded.version - count, NO_STREAM)
            found = await self._events.read(stream, after, folded.version - after)
            if after == NO_STREAM or (found and found[0].position <= position):
                return [each for each in found if each.position > position]
            count = 0 if count == AHEAD else min(4 * count, AHEAD)
        return None

    async def _body(self, lookup: str) -> bytes | None:
        """Return what *lookup* found, as it is sent; ``None`` if neither views nor log have it.

        No contact is in it if their data key is lost.

        Raises:
            DamagedEvent: The contacts cannot be opened, and their stream is damaged.
            LogUnavailable: Log, views or keys are away.
        """
        result = await self._views.get(RESULTS, lookup)
        contacts = None if result is None else await open_contacts(self._keys, result)
        if result is not None and contacts is not None:
            return spliced(result, contacts)
        # The views lack it, or it was sealed again since, without the people erased.
        position, result = await self._views.get_at(RESULTS, lookup)
        newer = await self._newer_result(lookup, result, position)
        if newer is not None:
            return spliced(newer, newer.sealed)
        if result is None:
            return None
        contacts = await open_contacts(self._keys, result)
        if contacts is None:
            await self._check_in_log(stream_of(lookup))
        return spliced(result, contacts or b"[]")  # without its key no contact can be shown

    async def _newer_result(
        self, lookup: str, row: ResultRow | None, position: int
    ) -> ResultRow | None:
        """Return *row* after the events of *lookup* after *position*, contacts not sealed.

        ``None``: the log has no such event.
        """
        where = Where(topics=_RESULTS, streams=frozenset({stream_of(lookup)}))
        stored = await self._events.select(where, position, await self._events.head())
        newer = await recorded(self._keys, stored) if stored else ()
        of_lookup = [each for each in newer if RESULTS.key(each) == lookup]
        for each in of_lookup:
            row = RESULTS.fold(row, each)
        return row if of_lookup else None

    async def reusable(self, lookup: str) -> Reusable:
        """Return the answer to a search that reuses what *lookup* found.

        The log is believed where neither views nor log have the contacts.

        Raises:
            DamagedEvent, LogUnavailable: As `search`.
        """
        body = await self._body(lookup)
        if body is None:
            await self._check_whole(stream_of(lookup))
            return Reusable(shows_somebody=True)
        found = msgspec.json.decode(body, type=_Found)
        return Reusable(any(each.email is not None for each in found.contacts), body)

    async def _check_whole(self, stream: str) -> None:
        """Return if the views show all of *stream*.

        Raises:
            DamagedEvent: They pass over some of it.
        """
        aside = await self._views.get(ASIDE, stream)
        if aside is not None and not aside.mended:
            self._follower.set_aside.note(damage_of(aside))
        if stream in self._follower.set_aside:
            why = "some of what is asked for is damaged, and set aside"
            raise DamagedEvent(0, stream, 0, why)

    async def _check_in_log(self, stream: str) -> None:
        """Do as `_check_whole`, also if the damage was not met yet: read the stream.

        Raises:
            LogUnavailable: It cannot be read now.
        """
        await self._check_whole(stream)
        try:
            await self._events.read(stream)
        except DamagedEvent as damaged:
            self._follower.set_aside.note(damaged)
            raise

    async def usage(self, key_id: str) -> UsageRow | None:
        await self._check_whole(f"key-{key_id}")
        return await self._views.get(USAGE, key_id, self._reflected())

    async def keys(self) -> list[tuple[str, UsageRow]]:
        """Return (key id, row) of every key there is."""
        return await self._views.all(USAGE, self._reflected())

    async def brands(self) -> list[tuple[str, BrandRow]]:
        return await self._views.all(BRANDS, self._reflected())

    def _reflected(self) -> int:
        """Return up to where a list reflects the log.

        Raises:
            NewerEvent: An event that only a newer version reads is next.
        """
        self._follower.gate.check()
        return self._follower.position

    async def shown_keys(self, secret_hashes: AbstractSet[str]) -> Mapping[str, str]:
        """Return the id of the key that each of *secret_hashes* opens, as the views show it.

        They are not waited for: one that has an id may have been shut since they last moved,
        and one without may open a key by now.

        Raises:
            LogUnavailable: The views are away.
        """
        return await self._opened_by(secret_hashes, 0)

    async def keys_opened_by(self, secret_hashes: AbstractSet[str]) -> Mapping[str, str]:
        """Return the id of the key that each of *secret_hashes* opens, of those that open one.

        Those without an id opened nothing when this was called, as far as the log shows.
        One that has an id may have been shut since, or its key's stream is damaged: code that
        reads that learns it.

        Raises:
            LogUnavailable: Log or views are away, or the views too far behind.
        """
        head = await self._events.head()
        await reached(self._follower, head - AHEAD)
        since = await self._views.position()
        newest = await self._newest_secrets(since, head)
        found = await self._opened_by(secret_hashes, since)
        found = {s: k for s, k in found.items() if {s, None} & newest.get(k, {None})}
        return found | {
            s: k
            for k, each in newest.items()
            for s in each
            if s is not None and s in secret_hashes
        }

    async def _opened_by(self, secret_hashes: AbstractSet[str], since: int) -> dict[str, str]:
        found = await self._views.ids_tagged(USAGE, secret_hashes, since)
        if len(found) < len(secret_hashes):
            found += await self._views.ids_tagged(OLD_SECRETS, secret_hashes, since)
        return {secret: key_id for key_id, secret in found}

    async def _newest_secrets(
        self, after: int, upto: int
    ) -> Mapping[str, AbstractSet[str | None]]:
        """Return the secrets that may open each key that has changed after *after*.

        ``None`` among them: also the secret that it had before.

        Raises:
            NewerEvent: The log has an event that only a newer version reads.
        """
        self._follower.gate.check()
        if upto - after > AHEAD:
            raise LogUnavailable(f"the views are {upto - after} events behind the log")
        newest: dict[str, AbstractSet[str | None]] = {}
        where = Where(topics=topics_of(KeyIssued, KeyRotated, KeyRevoked))
        for stored in await self._events.select(where, after, upto):
            with suppress(DamagedEvent):  # a read of the key reports that
                for each in await recorded(self._keys, [stored]):
                    key_id = each.stream.removeprefix("key-")
                    match each.event:
                        case KeyRotated(secret_hash=secret, old_until=datetime()):
                            newest[key_id] = {secret, *newest.get(key_id, {None})}
                        case KeyIssued(secret_hash=secret) | KeyRotated(secret_hash=secret):
                            newest[key_id] = {secret}
                        case _:
                            newest[key_id] = set()
        return newest

    async def until_settled(self, search: str) -> None:
        """Wait until the views hold the end of *search*.

        Raises:
            NewerEvent: They stand still before it.
        """
        settled = self._waits.setdefault(search, _Settled())
        await self._follower.reached(self._follower.notified)
        # An end that is not there yet is stored later, and wakes this.
        row = await retry_while_unavailable(partial(self._views.get, SEARCHES, search))
        if row is None or row.status == "running":
            await settled.stored.wait()
            await self._follower.reached(settled.position)

    def _wake(self, page: Sequence[RecordedEvent]) -> None:
        """Wake the callers that wait for a search which *page* settles."""
        for each in page:
            if isinstance(each.event, SearchSettled):
                settled = self._waits.get(each.event.search)
                if settled is not None:
                    settled.position = each.position
                    settled.stored.set()

    async def unfinished(self) -> UnfinishedWork:
        """Return what is unfinished (the port `cs.eventlog.open_work.OpenWork`)."""
        position = await self._views.position()
        brands = await self._views.tagged(BRANDS, "live", position)
        searches = [
            WaitingSearch(search, row.key_id, row.lookup)
            for search, row in await self._views.tagged(SEARCHES, "running", position)
        ]
        aside = await self._views.tagged(ASIDE, SET_ASIDE, position)
        return UnfinishedWork(
            position,
            [row.live for _, row in brands if row.live],
            searches,
            [damage_of(row) for _, row in aside],
        )


def _runs(search: str, key: Key) -> bool:
    return any(running.search == search for running in key.running)


async def reached(follower: Follower, position: int) -> None:
    """Wait for the views to reflect *position*.

    Raises:
        LogUnavailable: It takes longer than `PATIENCE_S`.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            await follower.reached(position)
    except TimeoutError:
        behind = position - follower.position
        raise LogUnavailable(f"the views are {behind} events behind the log") from None


def topics_of(*events: type[Event]) -> frozenset[str]:
    """Return the topics that *events* are read of, in all versions."""
    return frozenset(topic for topic in shapes() if event_of(topic) in events)


#: Of what a result is made of.
_RESULTS = topics_of(*RESULTS.reads)
