"""Answers from the views, for callers and for whoever drives lookups."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.key import Key, KeyEvent, SearchAdmitted, SearchSettled
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.mapper import DataKeys
from cs.eventlog.open_work import UnfinishedWork, WaitingSearch
from cs.eventlog.port import EventLog, RecordedEvent
from cs.eventlog.streams import FoldedState, Streams
from cs.metrics.metrics import Metrics
from cs.projections.brands import BRANDS, BrandRow
from cs.projections.current_rows import CurrentRows
from cs.projections.ended import EndedSearches
from cs.projections.follower import Follower
from cs.projections.key_secrets import KeySecrets
from cs.projections.newer_rows import NewerRows
from cs.projections.result_contacts import ResultContacts, spliced
from cs.projections.search_record import SearchParts
from cs.projections.searches import RESULTS, SEARCHES, ResultRow, SearchRow
from cs.projections.set_aside import ASIDE, SET_ASIDE, damage_of
from cs.projections.settled_waits import SettledWaits
from cs.projections.usage import USAGE, UsageRow
from cs.projections.views import Views


class Reusable(msgspec.Struct, frozen=True):
    """What a later search would be answered with.

    Attributes:
        shows_somebody: Whether there is a verified e-mail in it.
        body: As that of `SearchParts`; ``None`` if the views do not have it yet.
    """

    shows_somebody: bool
    body: bytes | None = None


class _Address(msgspec.Struct, frozen=True):
    """Of a contact as it is sent: what makes an answer worth a charge."""

    email: str | None


class Reading:
    """Answers that reflect every call answered before.

    A search's by its key alone (`search`), a list's by the whole log (`CurrentRows`).

    Args:
        events: The log.
        views: Where the rows are.
        follower: Of *views*.
        keys: What opens whom an answer shows.
        metrics: Where what is kept in memory is counted.
        streams: Where callers load the state of a key.
    """

    def __init__(
        self,
        events: EventLog,
        views: Views,
        follower: Follower,
        keys: DataKeys,
        *,
        metrics: Metrics | None = None,
        streams: Streams | None = None,
    ) -> None:
        self._streams = streams or Streams(events)
        self._events = events
        self._views = views
        self._follower = follower
        self._settled = SettledWaits()
        self._ended = EndedSearches(metrics=metrics)
        self._rows = CurrentRows(events, views, follower)
        self._newer = NewerRows(events, keys)
        self._results = ResultContacts(keys)
        self.secrets = KeySecrets(views, self._rows)
        follower.listen(self._on_events, (SearchAdmitted, SearchSettled))
        views.on_replaced(self._ended.forget)

    def _on_events(self, page: Sequence[RecordedEvent]) -> None:
        """Take note of a page whose rows are committed."""
        self._ended.on_events(page)
        self._settled.on_events(page)

    def admitted(self, key_id: str, events: Sequence[KeyEvent]) -> None:
        """Take note of *events* just appended to the key *key_id*; the views lack them."""
        stream = f"key-{key_id}"
        self._ended.on_events([RecordedEvent(0, stream, 0, event) for event in events])

    async def search(
        self, search: str, key_id: str, key: Key | None = None
    ) -> SearchParts | None:
        """Return *search* if it was made with the key *key_id*.

        One row is read of a search that is known to have ended.  Otherwise its row is right if
        the views, at that moment, had the newest event of its key; else the events of that key
        which they lack are applied to it, and those of its lookup.  Nobody else's are read or
        waited for.

        Args:
            search: Any text.
            key_id: Of whoever asks.
            key: Its state, as the caller has just read it, if it did.

        Raises:
            LogUnavailable: Log, views or keys are away, or the views too far behind.
        """
        if key is not None:
            found = await self._known_to_have_ended(search, key_id, key)
            if found is not None:
                return found
        stream = f"key-{key_id}"
        folded = self._streams.remembered(stream)
        if folded is None or folded.state is not key:
            folded = await self._streams.key(key_id)
        row = await self._row(search, stream, folded)
        if row is None or row.key_id != key_id:
            await self._check_whole(stream)
            return None
        if row.status == "running":
            if not _runs(search, folded.state):
                await self._check_whole(stream)  # the views pass over its end
            return SearchParts(search, row, folded.state, None)
        if _runs(search, folded.state):  # it ended since, and that state lacks its charge
            folded = await self._streams.key(key_id)
        self._ended.keep(search, row)
        return SearchParts(search, row, folded.state, await self._body(row.lookup))

    def with_body(self, search: str, key_id: str, key: Key, body: bytes) -> SearchParts | None:
        """Return what `search` does if it has ended, with what it found.

        Args:
            search: Any text.
            key_id: Of whoever asks.
            key: Its state, as the caller has just read it.
            body: What it found, as the caller has just read it.
        """
        row = self._ended_row(search, key_id, key)
        return None if row is None else SearchParts(search, row, key, body)

    def _ended_row(self, search: str, key_id: str, key: Key) -> SearchRow | None:
        """Return how *search* of the key *key_id* ended, if it has and that is in memory.

        ``None`` too if *key* was read before the end: it lacks its charge.
        """
        row = self._ended.get(search)
        if row is None or row.key_id != key_id or _runs(search, key):
            return None
        return row

    async def _row(
        self, search: str, stream: str, folded: FoldedState[Key]
    ) -> SearchRow | None:
        """Return the row of *search* that reflects the key's *stream* as *folded* does."""
        for _ in range(2):
            position, row = await self._views.get_at(SEARCHES, search)
            if position >= folded.position or (row is not None and row.status != "running"):
                return row
            newer = await self._newer.since(stream, folded, position)
            if newer is not None:
                return self._newer.search(search, row, newer)
            await self._rows.reached(folded.position)
        raise LogUnavailable("the views are made anew, and know too little yet")

    async def _known_to_have_ended(
        self, search: str, key_id: str, key: Key
    ) -> SearchParts | None:
        """Return *search* if it is known to have ended and what it found is in the views.

        Their position is not asked for: erasing somebody waits until they are gone from them.
        """
        row = self._ended_row(search, key_id, key)
        if row is None:  # one of another key takes as long as none
            return None
        with suppress(LogUnavailable):  # the longer way may still go
            result = await self._result(row.lookup)
            contacts = None if result is None else await self._results.contacts(result)
            if result is not None and contacts is not None:
                return SearchParts(search, row, key, spliced(result, contacts))
        return None

    def _check_readable(self, stream: str) -> None:
        """Pass if the views show all of *stream*.

        Raises:
            DamagedEvent: They pass over some of it.
        """
        if stream in self._follower.set_aside:
            why = "some of what is asked for is damaged, and set aside"
            raise DamagedEvent(0, stream, 0, why)

    async def _check_whole(self, stream: str) -> None:
        """Do as `_check_readable`, also if only whoever writes the views met the damage.

        They may have been made anew since this process read past where it is.
        """
        self._check_readable(stream)
        aside = await self._views.get(ASIDE, stream)
        if aside is not None and not aside.mended:
            self._follower.set_aside.note(damage_of(aside))
            self._check_readable(stream)

    async def reusable(self, lookup: str) -> Reusable:
        """Return what a search is answered with that reuses what *lookup* found.

        Nobody is in it if the data keys of its contacts are lost.  Of what the views do not
        have yet, the log is believed.

        Raises:
            DamagedEvent: Its contacts cannot be opened, and its stream is damaged.
            LogUnavailable: Log, views or keys are away.
        """
        result = await self._result(lookup)
        if result is None:
            await self._check_whole(stream_of(lookup))
            return Reusable(shows_somebody=True)
        contacts = await self._results.contacts(result)
        if contacts is None:
            contacts = await self._sealed_anew(lookup, result)
        found = msgspec.json.decode(contacts or b"[]", type=list[_Address])
        shows_somebody = any(contact.email is not None for contact in found)
        return Reusable(shows_somebody, spliced(result, contacts or b"[]"))

    async def _result(self, lookup: str) -> ResultRow | None:
        return await self._views.get(RESULTS, lookup, self._follower.position)

    async def _sealed_anew(self, lookup: str, result: ResultRow) -> bytes | None:
        """Return the contacts of *lookup* if *result*, which does not open, is an old one.

        Raises:
            DamagedEvent: It is not, and their stream is damaged: who is left is not known.
        """
        position, row = await self._views.get_at(RESULTS, lookup)
        newer = await self._newer.result(lookup, row, position)
        if newer is not None:
            return newer.sealed
        contacts = await self._results.contacts(row or result)
        if contacts is None:
            await self._check_in_log(stream_of(lookup))
        return contacts

    async def _check_in_log(self, stream: str) -> None:
        """Do as `_check_whole`, also if nobody has met the damage yet: read the stream.

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
        self._check_readable(f"key-{key_id}")
        return await self._rows.get(USAGE, key_id, await self._rows.basis())

    async def keys(self) -> list[tuple[str, UsageRow]]:
        """Return (key id, row) of every key there is."""
        return await self._rows.all(USAGE, await self._rows.basis())

    async def brands(self) -> list[tuple[str, BrandRow]]:
        return await self._rows.all(BRANDS, await self._rows.basis())

    async def until_settled(self, search: str) -> None:
        """Wait until the views hold the end of *search*."""
        with self._settled.waiting(search) as settled:
            # An end that is not there yet is committed later, and wakes this.
            row = await retry_while_unavailable(partial(self._views.get, SEARCHES, search))
            if row is None or row.status == "running":
                await settled.wait()

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

    async def _body(self, lookup: str) -> bytes:
        position, result = await self._views.get_at(RESULTS, lookup)
        if result is None:  # a settled search's lookup has finished
            newer = await self._newer.result(lookup, None, position)
            if newer is not None:
                return spliced(newer, newer.sealed)
            why = "what this search found is damaged, and set aside"
            raise DamagedEvent(0, stream_of(lookup), 0, why)
        contacts = await self._results.contacts(result)
        if contacts is None:  # perhaps sealed anew between the two reads
            contacts = await self._sealed_anew(lookup, result)
        return spliced(result, contacts or b"[]")  # without its key nobody can be shown


def _runs(search: str, key: Key) -> bool:
    return any(running.search == search for running in key.running)
