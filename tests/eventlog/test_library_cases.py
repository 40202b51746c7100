"""The eventsourcing library's own recorder cases, on our recorder and on our port.

Left out, by name:

* ``AggregateRecorderTestCase`` on `BatchRecorder`: it wants no positions from an append;
  an application recorder, the library's own too, returns them.  It runs on the port.
* ``ProcessRecorderTestCase``, ``TrackingRecorderTestCase``: views keep their checkpoint
  beside their rows (`cs.projections.sqlite.store`); the log has no tracking table.
* ``optional_test_insert_subscribe``: the library's SQLite recorder has no subscriptions
  either; `cs.eventlog.follow` follows a log.
* ``InfrastructureFactoryTestCase``, ``TranscoderTestCase``: objects are built in
  `cs.assembly.folder_stores`, and shapes belong to `cs.domain.codec`.

``INITIAL_VERSION`` is 0 in all of them.  The library's default, 1, is a version gap at
the start of a stream, which its recorder takes and our port refuses.
"""

import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    closing,
    nullcontext,
)
from functools import reduce
from pathlib import Path
from typing import Any
from uuid import uuid4

import eventsourcing.cryptography
import pytest
from eventsourcing.application import Repository
from eventsourcing.persistence import EventStore, IntegrityError, StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from cs.domain.key import INITIAL, evolve
from cs.eventlog.mapper import Envelope, EventMapper
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.sqlite.recorder import BatchRecorder
from domain.golden_files import golden_events
from eventlog.library_port import Blocking, PortRecorder, SilentPortRecorder
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from postgres.migrated import migrated

with pytest.MonkeyPatch.context() as patch:
    # The cases import a cipher that wants another crypto package, and use it nowhere here.
    patch.setitem(sys.modules, "eventsourcing.cipher", eventsourcing.cryptography)
    from eventsourcing.tests import persistence as library


def datastore(path: Path) -> SQLiteDatastore:
    return SQLiteDatastore(f"file:{path}", pool_size=6, originator_id_type="text")


# The cases.


class FromZero(library.RecorderTestCase):
    INITIAL_VERSION = 0

    def new_originator_id(self) -> str:
        return f"key-{uuid4()}"

    def close_after_readers(self, close: Callable[[], None]) -> None:
        """Close once the threads that this test starts have ended: it does not wait for them.

        A connection that is closed while a thread reads on it is waited for for ever.
        """
        before = set(threading.enumerate())

        def wait_and_close() -> None:
            for thread in set(threading.enumerate()) - before:
                if "Thread-" in thread.name:
                    thread.join(10)
            close()

        self.addCleanup(wait_and_close)


class OnBatchRecorder(FromZero):
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path) -> None:
        self.path = tmp_path / "log.db"

    def create_recorder(self) -> BatchRecorder:
        opened = datastore(self.path)
        self.close_after_readers(opened.close)
        recorder = BatchRecorder(opened)
        recorder.create_table()
        return recorder


class OnPort(FromZero):
    def opening(self) -> AbstractAsyncContextManager[EventLog]:
        raise NotImplementedError

    def create_recorder(self) -> PortRecorder:
        blocking = Blocking(self.opening())
        self.close_after_readers(blocking.close)
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


class OnPostgres(OnPort):
    @pytest.fixture(autouse=True)
    def _dsn(self, database: str) -> None:
        self.dsn = database

    def opening(self) -> AbstractAsyncContextManager[EventLog]:
        return postgres_log(self.dsn)


@asynccontextmanager
async def postgres_log(dsn: str) -> AsyncIterator[EventLog]:
    async with migrated(dsn) as pool, PostgresEventLog(pool, MemoryKeyStore()) as log:
        yield log


class Silent(OnPort):
    def create_recorder(self) -> SilentPortRecorder:
        blocking = Blocking(self.opening())
        self.close_after_readers(blocking.close)
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


class TestApplicationRecorderOfPostgresLog(
    OnPostgres, library.ApplicationRecorderTestCase[PortRecorder]
):
    pass


class TestAggregateRecorderOfPostgresLog(Silent, OnPostgres, library.AggregateRecorderTestCase):
    pass


class TestNonInterleavingOfPostgresLog(
    OnPostgres, library.NonInterleavingNotificationIDsBaseCase
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
