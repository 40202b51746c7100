"""The eventsourcing library's own recorder cases, on our recorder and on our port.

Left out, by name:

* ``AggregateRecorderTestCase`` on `BatchRecorder`: it wants no positions from an append;
  an application recorder, the library's own too, returns them.  It runs on the port.
* ``ProcessRecorderTestCase``, ``TrackingRecorderTestCase``: views keep their checkpoint
  beside their rows (`cs.projections.store`); the log has no tracking table.
* ``optional_test_insert_subscribe``: the library's SQLite recorder has no subscriptions
  either; `cs.eventlog.follow` follows a log.
* ``InfrastructureFactoryTestCase``, ``TranscoderTestCase``: objects are built in
  `cs.wiring`, and shapes belong to `cs.domain.codec`.

``INITIAL_VERSION`` is 0 in all of them.  The library's default, 1, is a version gap at
the start of a stream, which its recorder takes and our port refuses.
"""

import asyncio
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, closing, nullcontext
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from uuid import UUID, uuid4

import eventsourcing.cryptography
import pytest
from eventsourcing.application import Repository
from eventsourcing.persistence import (
    ApplicationRecorder,
    EventStore,
    IntegrityError,
    Notification,
    StoredEvent,
    Subscription,
)
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from cs.domain.key import INITIAL, SearchSettled, evolve
from cs.eventlog.batch_recorder import BatchRecorder
from cs.eventlog.mapper import Envelope, EventMapper
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import NO_STREAM, Append, EventLog, Recorded, WrongExpectedVersion
from cs.eventlog.sqlite import SqliteEventLog
from cs.keystore.memory import MemoryKeyStore
from domain.golden_files import golden_events

with pytest.MonkeyPatch.context() as patch:
    # The cases import a cipher that wants another crypto package, and use it nowhere here.
    patch.setitem(sys.modules, "eventsourcing.cipher", eventsourcing.cryptography)
    from eventsourcing.tests import persistence as library

T = TypeVar("T")

AT = datetime(2026, 1, 1, tzinfo=UTC)


def datastore(path: Path) -> SQLiteDatastore:
    return SQLiteDatastore(f"file:{path}", pool_size=6, originator_id_type="text")


# Any event log, driven as the library drives a recorder.


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


def _notification(recorded: Recorded) -> Notification:
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


# The cases.


class FromZero(library.RecorderTestCase):
    INITIAL_VERSION = 0

    def new_originator_id(self) -> str:
        return f"key-{uuid4()}"


class OnBatchRecorder(FromZero):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "log.db"

    def create_recorder(self) -> BatchRecorder:
        opened = datastore(self.path)
        self.addCleanup(opened.close)
        recorder = BatchRecorder(opened)
        recorder.create_table()
        return recorder


class OnPort(FromZero):
    def opening(self) -> AbstractAsyncContextManager[EventLog]:
        raise NotImplementedError

    def create_recorder(self) -> PortRecorder:
        blocking = Blocking(self.opening())
        self.addCleanup(blocking.close)
        return PortRecorder(blocking)


class OnSqlite(OnPort):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "log.db"

    def opening(self) -> AbstractAsyncContextManager[EventLog]:
        return SqliteEventLog(self.path, MemoryKeyStore())


class OnMemory(OnPort):
    def opening(self) -> AbstractAsyncContextManager[EventLog]:
        return nullcontext(MemoryEventLog(MemoryKeyStore()))


class Silent(OnPort):
    def create_recorder(self) -> SilentPortRecorder:
        blocking = Blocking(self.opening())
        self.addCleanup(blocking.close)
        return SilentPortRecorder(blocking)


class TestApplicationRecorderOfBatchRecorder(
    OnBatchRecorder, library.ApplicationRecorderTestCase[BatchRecorder]
):
    pass


class TestApplicationRecorderOfSqliteLog(
    OnSqlite, library.ApplicationRecorderTestCase[PortRecorder]
):
    pass


class TestApplicationRecorderOfMemoryLog(
    OnMemory, library.ApplicationRecorderTestCase[PortRecorder]
):
    pass


class TestAggregateRecorderOfSqliteLog(Silent, OnSqlite, library.AggregateRecorderTestCase):
    pass


class TestAggregateRecorderOfMemoryLog(Silent, OnMemory, library.AggregateRecorderTestCase):
    pass


class TestNonInterleavingOfBatchRecorder(
    OnBatchRecorder, library.NonInterleavingNotificationIDsBaseCase
):
    pass


class TestNonInterleavingOfSqliteLog(OnSqlite, library.NonInterleavingNotificationIDsBaseCase):
    pass


class TestNonInterleavingOfMemoryLog(OnMemory, library.NonInterleavingNotificationIDsBaseCase):
    pass


def test_the_library_s_first_version_is_a_gap_that_it_takes_and_the_port_refuses(
    tmp_path: Path,
) -> None:
    gap = StoredEvent("key-a", 1, "topic", b"state")
    with closing(datastore(tmp_path / "theirs.db")) as opened:
        theirs = BatchRecorder(opened)
        theirs.create_table()
        assert theirs.insert_events([gap]) == [1]
    blocking = Blocking(SqliteEventLog(tmp_path / "log.db", MemoryKeyStore()))
    with closing(blocking), pytest.raises(IntegrityError, match="-1, not 0"):
        PortRecorder(blocking).insert_events([gap])


# The library and we on one file.


async def test_the_library_reads_what_we_wrote(tmp_path: Path) -> None:
    path, keys = tmp_path / "log.db", MemoryKeyStore()
    brand, key = golden_events("brand"), golden_events("key")
    async with SqliteEventLog(path, keys) as log:
        await log.append([Append("brand-5f0c", NO_STREAM, brand[:7])])
        await log.append([Append("key-a", NO_STREAM, key)])
        await log.append([Append("brand-5f0c", 6, brand[7:])])

    with closing(datastore(path)) as opened:
        recorder = SQLiteApplicationRecorder(opened)
        store = EventStore(EventMapper(await keys.find(keys._keys)), recorder)

        assert recorder.max_notification_id() == len(brand) + len(key)
        assert list(store.get("brand-5f0c")) == [
            Envelope("brand-5f0c", n, event) for n, event in enumerate(brand)
        ]
        notified = recorder.select_notifications(1, 100)
        assert [n.id for n in notified] == list(range(1, len(brand) + len(key) + 1))


async def test_the_library_s_repository_folds_a_stream_of_ours(tmp_path: Path) -> None:
    path, keys = tmp_path / "log.db", MemoryKeyStore()
    events = golden_events("key")
    async with SqliteEventLog(path, keys) as log:
        await log.append([Append("key-a", NO_STREAM, events)])

    def fold(_: Any, envelopes: Any) -> Any:
        return reduce(lambda state, envelope: evolve(state, envelope.event), envelopes, INITIAL)

    with closing(datastore(path)) as opened:
        store = EventStore(EventMapper({}), SQLiteApplicationRecorder(opened))
        state = Repository(store).get("key-a", projector_func=fold)

    assert state == fold(None, [Envelope("key-a", n, event) for n, event in enumerate(events)])
    assert state != INITIAL


async def test_we_read_what_the_library_wrote_and_go_on_behind_it(tmp_path: Path) -> None:
    path, keys = tmp_path / "log.db", MemoryKeyStore()
    events = golden_events("key")
    with closing(datastore(path)) as opened:
        recorder = SQLiteApplicationRecorder(opened)
        recorder.create_table()
        store = EventStore(EventMapper({}), recorder)
        store.put([Envelope("key-a", n, event) for n, event in enumerate(events[:-1])])

    async with SqliteEventLog(path, keys) as log:
        assert [r.event for r in await log.read("key-a")] == events[:-1]
        position = await log.append([Append("key-a", len(events) - 2, events[-1:])])

        assert position == len(events)
        assert [r.event for r in await log.tail(0)] == events
