"""Answers from the views that reflect every call answered before.

A reader that finds the views behind the log waits a moment for them, then applies what
is missing in memory.  Nothing is decided here.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidTag

from cs.domain.brand.brand import stream_of
from cs.domain.key import Key, KeyEvent, SearchSettled
from cs.eventlog.damage import read_past
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.key_cache import held_keys
from cs.eventlog.mapper import DataKeys
from cs.eventlog.open_work import Unfinished, WaitingSearch
from cs.eventlog.port import EventLog, Recorded
from cs.eventlog.sealing import need_of, open_bytes, why_lost
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue
from cs.projections.brands import BRANDS, BrandRow
from cs.projections.damaged_keys import DamagedKeys
from cs.projections.ended import EndedSearches
from cs.projections.follower import Follower
from cs.projections.port import Changed, Views
from cs.projections.rows import Table
from cs.projections.runner import sealer
from cs.projections.searches import RESULTS, SEARCHES, ResultRow, SearchRow
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow, damage_of
from cs.projections.usage import USAGE, UsageRow

R = TypeVar("R", bound=msgspec.Struct)

#: How long the views are waited for before their rows are advanced in memory.
WAIT_S = 0.5
#: Events applied in memory for one answer; further behind, the answer waits.
AHEAD = 5_000
#: How long it waits at most.
PATIENCE_S = 4.0
#: Keys read at once when their secrets are gone through: some 0.5 MB.
SECRETS_PAGE = 5_000


class Found(msgspec.Struct, frozen=True):
    """One search with what its record is made of."""

    search: str
    row: SearchRow
    usage: UsageRow | Key
    body: bytes | None  # the fields it shares with its lookup's other searches; None: running


class Reusable(msgspec.Struct, frozen=True):
    """What a later search would be answered with.

    Attributes:
        shows_somebody: Whether there is a verified e-mail in it.
        body: As that of `Found`; ``None`` if the views do not have it yet.
    """

    shows_somebody: bool
    body: bytes | None = None


class _Address(msgspec.Struct, frozen=True):
    """Of a contact as it is sent: what makes an answer worth a charge."""

    email: str | None


class _Basis(msgspec.Struct, frozen=True):
    """What one answer rests on: views that reflect *since*, and rows newer than theirs."""

    since: int
    newer: Changed


class Reading:
    def __init__(
        self, events: EventLog, views: Views, followed: Follower, keys: DataKeys
    ) -> None:
        self._events = events
        self._views = views
        self._followed = followed
        self._keys = keys
        self._settled: dict[str, set[asyncio.Event]] = {}
        self._ended = EndedSearches()
        self._damaged_keys = DamagedKeys(events)
        followed.listen(self._on_events)

    def _on_events(self, page: Sequence[Recorded]) -> None:
        """Take note of a page whose rows are committed."""
        self._ended.on_events(page)
        for recorded in page:
            if isinstance(recorded.event, SearchSettled):
                for woken in self._settled.get(recorded.event.search, ()):
                    woken.set()

    def admitted(self, key_id: str, events: Sequence[KeyEvent]) -> None:
        """Take note of *events* that the key *key_id* was just given, before the views are."""
        stream = f"key-{key_id}"
        self._ended.on_events([Recorded(0, stream, 0, event) for event in events])

    async def search(
        self, search: str, key_id: str, key: Key | None = None, body: bytes | None = None
    ) -> Found | None:
        """Return *search* if it was made with the key *key_id*.

        One row is read of a search that is known to have ended; otherwise the views must
        reflect the whole log first.

        Args:
            search: Any text.
            key_id: Of whoever asks.
            key: Its state, as the caller has just read it, if it did.
            body: What it found, as the caller has just read it, if it did.

        Raises:
            LogUnavailable: Log, views or keys are away, or the views too far behind.
        """
        if key is not None:
            found = await self._known_to_have_ended(search, key_id, key, body)
            if found is not None:
                return found
        basis = await self._basis()
        row = await self._get(SEARCHES, search, basis)
        if row is None or row.key_id != key_id:
            await self._check_whole(f"key-{key_id}")
            return None
        usage = await self._usage(search, row, key, basis)
        if row.status == "running":
            return Found(search, row, usage, None)
        self._ended.keep(search, row)
        return Found(search, row, usage, await self._body(row.lookup, basis))

    async def _known_to_have_ended(
        self, search: str, key_id: str, key: Key, body: bytes | None
    ) -> Found | None:
        """Return *search* if it is known to have ended and what it found is in the views.

        Their position is not asked for: erasing somebody waits until they are gone from them.
        """
        row = self._ended.get(search)
        if row is None or row.key_id != key_id:  # one of another key takes as long as none
            return None
        if _runs(search, key):
            return None  # it ended after *key* was read, which lacks its charge
        if body is not None:
            return Found(search, row, key, body)
        with suppress(LogUnavailable):  # the longer way may still go
            result = await self._views.get(RESULTS, row.lookup, self._followed.position)
            contacts = None if result is None else await self._contacts(result)
            if result is not None and contacts is not None:
                return Found(search, row, key, _spliced(result, contacts))
        return None

    async def _usage(
        self, search: str, row: SearchRow, key: Key | None, basis: _Basis
    ) -> UsageRow | Key:
        if key is not None and (row.status == "running" or not _runs(search, key)):
            return key
        self._check_readable(f"key-{row.key_id}")
        usage = await self._get(USAGE, row.key_id, basis)
        assert usage is not None, "a key with a search was issued"
        return usage

    def _check_readable(self, stream: str) -> None:
        """Pass if the views tell all of *stream*.

        Raises:
            DamagedEvent: They pass over some of it.
        """
        if stream in self._followed.set_aside:
            why = "some of what is asked for is damaged, and set aside"
            raise DamagedEvent(0, stream, 0, why)

    async def _check_whole(self, stream: str) -> None:
        """Do as `_check_readable`, also if only whoever writes the views met the damage.

        They may have been made anew since this process read past where it is.
        """
        self._check_readable(stream)
        aside = await self._views.get(ASIDE, stream)
        if aside is not None and not aside.mended:
            self._followed.set_aside.note(damage_of(aside))
            self._check_readable(stream)

    async def reusable(self, lookup: str) -> Reusable:
        """Return what a search is answered with that reuses what *lookup* found.

        Nobody is in it if the data keys of its contacts are lost.  Of what the views do not
        have yet, the log is believed.

        Raises:
            DamagedEvent: Its contacts cannot be opened, and its stream is damaged.
            LogUnavailable: Log, views or keys are away.
        """
        result = await self._views.get(RESULTS, lookup, self._followed.position)
        if result is None:
            await self._check_whole(stream_of(lookup))
            return Reusable(shows_somebody=True)
        contacts = await self._contacts(result)
        if contacts is None:
            contacts = await self._sealed_anew(lookup, result)
        found = msgspec.json.decode(contacts or b"[]", type=list[_Address])
        shows_somebody = any(contact.email is not None for contact in found)
        return Reusable(shows_somebody, _spliced(result, contacts or b"[]"))

    async def _sealed_anew(self, lookup: str, result: ResultRow) -> bytes | None:
        """Return the contacts of *lookup* if *result*, which does not open, is an old one.

        Raises:
            DamagedEvent: It is not, and their stream is damaged: who is left is not known.
        """
        basis = await self._basis()
        result = await self._get(RESULTS, lookup, basis) or result
        contacts = await self._contacts(result)
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
            self._followed.set_aside.note(damaged)
            raise

    async def usage(self, key_id: str) -> UsageRow | None:
        self._check_readable(f"key-{key_id}")
        return await self._get(USAGE, key_id, await self._basis())

    async def keys(self) -> list[tuple[str, UsageRow]]:
        """Return (key id, row) of every key there is."""
        return await self._all(USAGE, await self._basis())

    async def keys_shown(self, secret_hashes: AbstractSet[str]) -> Mapping[str, str]:
        """Return the id of the key that each of *secret_hashes* opens, as the views show it.

        They are not waited for: one that has an id may have been shut since they last moved,
        and one without may open a key by now.

        Raises:
            LogUnavailable: The views are away.
        """
        return await self._secrets(secret_hashes, 0)

    async def keys_opened_by(self, secret_hashes: AbstractSet[str]) -> Mapping[str, str]:
        """Return the id of the key that each of *secret_hashes* opens, of those that open one.

        Those without an id opened nothing when this was called, as far as anybody can tell.
        One that has an id may have been shut since, or its key's stream is damaged: whoever
        reads that learns it.

        Raises:
            LogUnavailable: As `search`.
        """
        basis = await self._basis()
        found = await self._secrets(secret_hashes, basis.since)
        newer = {
            row_id: USAGE.tag(USAGE.decode(data))
            for (table, row_id), data in basis.newer.items()
            if table == USAGE.name
        }
        found = {s: k for s, k in found.items() if k not in newer or newer[k] == s}
        found |= {s: k for k, s in newer.items() if s is not None and s in secret_hashes}
        left = secret_hashes - found.keys()
        if not left:
            return found
        aside = await self._set_aside(basis)
        return {**found, **await self._damaged_keys.opened_by(left, aside)}

    async def secrets(self) -> AsyncGenerator[list[tuple[str, str]], None]:
        """Yield pages of (key id, hash of its secret), by id, of all keys that can be used."""
        after = ""
        while page := await self._views.tags(USAGE, after, SECRETS_PAGE):
            yield page
            after, _ = page[-1]

    async def _secrets(self, secret_hashes: AbstractSet[str], since: int) -> dict[str, str]:
        found = await self._views.ids_tagged(USAGE, secret_hashes, since)
        return {secret: key_id for key_id, secret in found}

    async def _set_aside(self, basis: _Basis) -> list[AsideRow]:
        """Return what the views pass over, by stream."""
        rows = dict(await self._views.tagged(ASIDE, SET_ASIDE, basis.since))
        for (table, row_id), data in basis.newer.items():
            if table == ASIDE.name:
                rows[row_id] = ASIDE.decode(data)
        return [rows[row_id] for row_id in sorted(rows)]

    async def brands(self) -> list[tuple[str, BrandRow]]:
        return await self._all(BRANDS, await self._basis())

    async def until_settled(self, search: str) -> None:
        """Wait until the views hold the end of *search*."""
        woken = asyncio.Event()
        self._settled.setdefault(search, set()).add(woken)
        try:
            # An end that is not there yet is committed later, and `_on_events` hears of that.
            row = await retry_while_unavailable(partial(self._views.get, SEARCHES, search))
            if row is None or row.status == "running":
                await woken.wait()
        finally:
            waiting = self._settled[search]
            waiting.discard(woken)
            if not waiting:
                del self._settled[search]

    async def unfinished(self) -> Unfinished:
        """Return what is unfinished (the port `cs.eventlog.open_work.OpenWork`)."""
        position = await self._views.position()
        brands = await self._views.tagged(BRANDS, "live", position)
        searches = [
            WaitingSearch(search, row.key_id, row.lookup)
            for search, row in await self._views.tagged(SEARCHES, "running", position)
        ]
        aside = await self._views.tagged(ASIDE, SET_ASIDE, position)
        return Unfinished(
            position,
            [row.live for _, row in brands if row.live],
            searches,
            [damage_of(row) for _, row in aside],
        )

    async def _basis(self) -> _Basis:
        """Wait for the views; make ready the rows that they still lack."""
        head = await self._events.head()
        waited_s = 0.0
        while self._followed.position < head:
            if waited_s >= PATIENCE_S:
                behind = head - self._followed.position
                raise LogUnavailable(f"the views are {behind} events behind the log")
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._followed.reached(head)
            except TimeoutError:
                waited_s += WAIT_S
                if head - self._followed.position <= AHEAD:
                    return await self._ahead(head)
        return _Basis(head, {})

    async def _ahead(self, head: int) -> _Basis:
        since = self._followed.position
        newer = await read_past(self._events, since, AHEAD)
        if not newer:  # reached meanwhile
            return _Basis(head, {})
        while newer[-1].position < head:  # raises, if that is for what comes next
            more = await read_past(self._events, newer[-1].position, AHEAD)
            if not more:
                break
            newer = [*newer, *more]
        seal = await sealer(self._keys, newer)
        return _Basis(since, await self._views.ahead(newer, seal))

    async def _get(self, table: Table[R], row_id: str, basis: _Basis) -> R | None:
        data = basis.newer.get((table.name, row_id))
        if data is not None:
            return table.decode(data)
        return await self._views.get(table, row_id, basis.since)

    async def _all(self, table: Table[R], basis: _Basis) -> list[tuple[str, R]]:
        rows = dict(await self._views.all(table, basis.since))
        for (name, row_id), data in basis.newer.items():
            if name == table.name:
                rows[row_id] = table.decode(data)
        return sorted(rows.items(), key=itemgetter(0))

    async def _body(self, lookup: str, basis: _Basis) -> bytes:
        result = await self._get(RESULTS, lookup, basis)
        if result is None:  # a settled search's lookup has finished
            why = "what this search found is damaged, and set aside"
            raise DamagedEvent(0, stream_of(lookup), 0, why)
        contacts = await self._contacts(result)
        if contacts is None:  # perhaps sealed anew between the two reads
            contacts = await self._sealed_anew(lookup, result)
        return _spliced(result, contacts or b"[]")  # without its key nobody can be shown

    async def _contacts(self, result: ResultRow) -> bytes | None:
        """Return the contacts in *result*; ``None`` if their key was destroyed or is lost.

        Raises:
            LogUnavailable: The keys are away, or the row is damaged.
        """
        if not result.sealed:
            return None
        need = need_of(result.key, result.sealed)
        try:
            held = await held_keys(self._keys, [need])
            why = why_lost(need, held, lambda key: open_bytes(key, result.key, result.sealed))
            if why is not None:
                self._keys.lost.note([LostValue(result.key, why)])
                return None
            key = held[result.key]
            return None if key is None else open_bytes(key, result.key, result.sealed)
        except KeysUnavailable as error:
            raise LogUnavailable(str(error)) from error
        except InvalidTag as error:
            raise LogUnavailable(
                f"what the views have under {result.key} is damaged; make them anew"
            ) from error


def _runs(search: str, key: Key) -> bool:
    return any(running.search == search for running in key.running)


def _spliced(result: ResultRow, contacts: bytes) -> bytes:
    return result.head[:-1] + b',"contacts":' + contacts + b"}"
