"""An event log driven as the eventsourcing library drives a recorder: blocking."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from threading import Thread
from typing import Any, TypeVar
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Notification,
    StoredEvent,
    Subscription,
)

from cs.domain.key import SearchSettled
from cs.eventlog.errors import WrongExpectedVersion
from cs.eventlog.port import NO_STREAM, Append, EventLog, RecordedEvent

T = TypeVar("T")

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Blocking:
    """A log on an event loop in a thread of its own."""

    def __init__(self, opening: AbstractAsyncContextManager[EventLog]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()
        self._opening = opening
        self.log = self.run(opening.__aenter__())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=60)

    def close(self) -> None:
        self.run(self._opening.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class PortRecorder(ApplicationRecorder):
    """An `EventLog` behind the library's interface, through the port alone.

    The cases store any topic with any bytes; an event of ours carries both.
    """

    def __init__(self, blocking: Blocking) -> None:
        self._blocking = blocking
        self._log = blocking.log

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **_: Any
    ) -> Sequence[int] | None:
        appends = list(_appends(stored_events))
        if not appends:
            return []
        try:
            last = self._blocking.run(self._log.append(appends))
        except WrongExpectedVersion as error:
            raise IntegrityError(error) from error
        return list(range(last - len(stored_events) + 1, last + 1))

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        after = NO_STREAM if gt is None else gt
        read = self._blocking.run(self._log.read(str(originator_id), after))
        found = [_notification(r) for r in read if lte is None or r.version <= lte]
        return [
            StoredEvent(n.originator_id, n.originator_version, n.topic, n.state)
            for n in (found[::-1] if desc else found)[:limit]
        ]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        after = 0 if start is None else start - inclusive_of_start
        page = self._blocking.run(self._log.tail(after, limit))
        return [
            notification
            for notification in map(_notification, page)
            if (stop is None or notification.id <= stop)
            and (not topics or notification.topic in topics)
        ]

    def max_notification_id(self) -> int | None:
        return self._blocking.run(self._log.head()) or None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        raise NotImplementedError


class SilentPortRecorder(PortRecorder):
    """Keeps the positions to itself, as an aggregate recorder does."""

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        super().insert_events(stored_events, **kwargs)
        return None


def _appends(stored_events: Sequence[StoredEvent]) -> Iterator[Append]:
    """Yield *stored_events* as appends to the end of their streams.

    Raises:
        IntegrityError: Versions of a stream do not follow each other, which an `Append`
            cannot say: it names only the version before its first event.
    """
    streams: dict[str, list[StoredEvent]] = {}
    for stored in stored_events:
        streams.setdefault(str(stored.originator_id), []).append(stored)
    for stream, group in streams.items():
        first = group[0].originator_version
        if [s.originator_version for s in group] != list(range(first, first + len(group))):
            raise IntegrityError(f"versions of {stream} do not follow each other")
        yield Append(stream, first - 1, [_carrying(s.topic, s.state) for s in group])


def _carrying(topic: str, state: bytes) -> SearchSettled:
    return SearchSettled(
        search=topic, lookup=state.hex(), outcome="done", charged=True, cached=False, at=AT
    )


def _notification(recorded: RecordedEvent) -> Notification:
    event = recorded.event
    assert isinstance(event, SearchSettled)
    assert event.lookup is not None
    return Notification(
        recorded.stream,
        recorded.version,
        event.search,
        bytes.fromhex(event.lookup),
        id=recorded.position,
    )
