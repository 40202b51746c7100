"""One search as of any position: the answer of the API at that time, and the run behind it.

The projections of the views fold the answer from the streams of the key and the brand up to
that position, and the code of the API shapes it (`cs.projections.search_record`).  People who
were erased since are in no answer: their data keys are gone.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactsErased, LookupEvent
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.port import NO_STREAM, EventLog, LogUnavailable, RecordedEvent, Where
from cs.history.history import History, Progress, opened, pass_over, unseen
from cs.history.loading import Fold, Search
from cs.history.newest import WINDOW
from cs.history.runs import Run, runs
from cs.history.selection import Selection
from cs.keystore.port import KeyStore
from cs.projections.reading import topics_of
from cs.projections.search_record import SearchParts, search_body, spliced
from cs.projections.searches import RESULTS, SEARCHES, ResultRow, SearchRow
from cs.projections.usage import USAGE, UsageRow
from cs.projections.views import Views


class ErasedSince(msgspec.Struct, frozen=True):
    """People left the run after the position that is shown.

    Attributes:
        position, at: Of the event that says so.
        people: Their number; if they aged out, all that were left.
        aged_out: Whether they were erased because no search had returned them for long.
    """

    position: int
    at: datetime
    people: int
    aged_out: bool


class SearchAt(msgspec.Struct, frozen=True, kw_only=True):
    """One search as it was.

    Attributes:
        position: The position of the log that is shown.
        now: Whether that is the end of the log.
        is_redacted: Whether people are hidden (`cs.history.redacting.redact_search`).
        record: The answer to ``GET /searches/{id}``: a JSON object.
        run: The run that answers it, as far as it had come.
        asked: The sources and verifiers that it asked (`cs.history.runs.Run.asked`).
        erased_since: Erasures after the position, in order.
    """

    search: Search
    position: int
    now: bool
    is_redacted: bool = False
    record: msgspec.Raw
    run: Run | None
    asked: Sequence[Mapping[str, Any]] = ()
    erased_since: tuple[ErasedSince, ...]


async def key_of_search(
    history: History, views: Views, search: str, progress: Progress = unseen
) -> str | None:
    """Return the id of the key that *search* was made with; ``None``: there is none.

    The views are asked first; for what they do not have yet, or if they are away, the log is
    searched, and *progress* is called.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    reflected = 0
    try:
        reflected = await views.position()
        row = await views.get(SEARCHES, search)
    except LogUnavailable:
        reflected, row = 0, None
    if row is not None:
        return row.key_id
    newer = Selection(types=("search-admitted",), after=reflected)
    async for event in history.events(newer, progress):
        if event.data().get("search") == search:
            return event.stream.removeprefix("key-")
    return None


async def of_long_key(
    log: EventLog, keys: KeyStore, search: str, row: SearchRow, position: int
) -> Sequence[RecordedEvent]:
    """Return the first event of the key of *search*, and those of *search* up to *position*.

    They are looked for in `WINDOW` positions after it was admitted and as many before it was
    settled: if it was sent again between the two, that is not counted.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    stream = f"key-{row.key_id}"
    topics = topics_of(SearchAdmitted, SearchRepeated, SearchSettled)
    where = Where(topics, None, frozenset({stream}))
    end = min(row.position + WINDOW, row.settled_position or position, position)
    stored = [*await log.select(where, row.position - 1, end)]
    end, last = max(end, row.settled_position - WINDOW), min(row.settled_position, position)
    if end < last:
        stored += await log.select(where, end, last)
    mark = search.encode()
    found = [each for each in stored if each.stream == stream and mark in each.state]
    mine = await opened(keys, found, pass_over)
    issued = await log.read(stream, NO_STREAM, 1)
    return [*issued, *(each for each in mine if getattr(each.event, "search", "") == search)]


async def search_at(
    history: History,
    search: str,
    key_id: str,
    position: int,
    of_key: Sequence[RecordedEvent] | None = None,
) -> SearchAt | None:
    """Return *search* as it was when *position* was the log's last; ``None``: not yet made.

    Args:
        history: Where it is read.
        search: Its id.
        key_id: Of the key that it was made with (`key_of_search`).
        position: Of the log.
        of_key: The key's first event and those of this search, where the key has too many to
            read; the record has no ``usage`` then.  By default all are read.

    Raises:
        LogUnavailable, DamagedEvent, NewerEvent: As `History.stream`.
    """
    fold = Fold()
    row: SearchRow | None = None
    used: UsageRow | None = None
    found: Search | None = None
    async for recorded in _each(history, key_id, position, of_key):
        if type(recorded.event) in USAGE.reads:
            used = USAGE.fold(used, recorded)
        if type(recorded.event) in SEARCHES.reads and SEARCHES.key(recorded) == search:
            row = SEARCHES.fold(row, recorded)
        for settled in fold.of_key(recorded):
            found = settled if settled.search == search else found
    found = fold.searches.get(search, found)
    if row is None or used is None or found is None:
        return None
    of_run = [
        recorded
        async for recorded in history.stream(stream_of(row.lookup))
        if isinstance(recorded.event, LookupEvent) and recorded.event.lookup == row.lookup
    ]
    by_then = [recorded for recorded in of_run if recorded.position <= position]
    result: ResultRow | None = None
    for recorded in by_then:
        if type(recorded.event) in RESULTS.reads:
            result = RESULTS.fold(result, recorded)
    body = None
    if row.status != "running":
        assert result is not None, "a settled search's lookup has finished"
        body = spliced(result, result.sealed)
    run = next(iter(runs(by_then)), None)
    return SearchAt(
        search=found,
        position=position,
        now=position >= await history.head(),
        record=_record(SearchParts(search, row, used, body), with_usage=of_key is None),
        run=run,
        asked=() if run is None else run.asked(),
        erased_since=tuple(
            _erased(recorded.position, recorded.event)
            for recorded in of_run
            if recorded.position > position and isinstance(recorded.event, ContactsErased)
        ),
    )


async def _each(
    history: History, key_id: str, position: int, given: Sequence[RecordedEvent] | None
) -> AsyncIterator[RecordedEvent]:
    if given is None:
        async for recorded in history.stream(f"key-{key_id}", position):
            yield recorded
    for recorded in given or ():
        if recorded.position <= position:
            yield recorded


def _record(parts: SearchParts, *, with_usage: bool) -> msgspec.Raw:
    body = search_body(parts)
    if not with_usage:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        body = msgspec.json.encode({n: v for n, v in fields.items() if n != "usage"})
    return msgspec.Raw(body)


def _erased(position: int, event: ContactsErased) -> ErasedSince:
    return ErasedSince(position, event.at, len(event.people), event.aged_out)
