"""Where folding may begin: snapshots are caches that are dropped whenever in doubt."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cs.domain import key
from cs.domain.brand import brand
from cs.domain.causation import StartCause
from cs.domain.contact import Query
from cs.domain.key import KeyIssued, QuotaGranted
from cs.domain.mail.mailbox import Verdict
from cs.eventlog import snapshots as snapshots_module
from cs.eventlog import streams as deciding
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.eventlog.snapshots import EVERY, Snapshot, Snapshots, snapshots_away
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.postgres.pool import Pool
from cs.postgres.sql import PostgresDatabase
from domain.acme_run import HOME, STREAM, AcmeRun, checked
from domain.golden_files import golden_events
from harness.memory_keys import MemoryKeyStore

#: The version of the rules, and a digest of what they fold all events to.
FOLDED = {"key": (3, "8194aa4cd269ab16"), "brand": (2, "508a9fbd63c6baa8")}
AT = datetime(2026, 1, 1, tzinfo=UTC)
ISSUED = KeyIssued(label="a", quota=0, secret_hash="h", last4="", at=AT)


def grants(number: int) -> list[QuotaGranted]:
    return [QuotaGranted(units=1, at=AT + timedelta(seconds=n)) for n in range(number)]


class Counting(SqliteEventLog):
    """Tells how many events of which stream were read."""

    reads: list[tuple[str, int]]

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        found = await super().read(stream, after, limit)
        self.reads.append((stream, len(found)))
        return found


@asynccontextmanager
async def started(
    path: Path, keys: MemoryKeyStore | None = None
) -> AsyncIterator[tuple[Streams, Counting]]:
    """Open the log and its snapshots as a start does."""
    store = keys or MemoryKeyStore()
    async with Counting(path, store) as log, Snapshots.in_file(path) as snapshots:
        log.reads = []
        yield Streams(log, snapshots), log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


async def _grow(path: Path, events: int) -> None:
    """Give the key ``a`` *events* more events, and load it."""
    async with started(path) as (streams, log):
        version = (await streams.key("a")).version
        new: list[Any] = [ISSUED] if version == NO_STREAM else []
        await log.append([Append("key-a", version, [*new, *grants(events - len(new))])])
        await streams.key("a")


def _sql(path: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as log:
        return log.execute(statement, values).fetchall()


def _stored(path: Path) -> list[Any]:
    return _sql(path, "SELECT originator_id, originator_version FROM snapshots")


async def test_a_start_reads_only_what_came_after_the_snapshot(path: Path) -> None:
    await _grow(path, EVERY + 1)
    await _grow(path, 7)

    async with started(path) as (streams, log):
        folded = await streams.key("a")

    assert folded.state.quota == EVERY + 7
    assert folded.version == EVERY + 7
    assert log.reads == [("key-a", 1), ("key-a", 7)]  # the snapshot's last event, and seven


async def test_a_snapshot_is_made_every_so_many_events_and_the_newest_is_kept(
    path: Path,
) -> None:
    await _grow(path, EVERY)  # versions to EVERY - 1: the whole is read as fast
    assert _stored(path) == [("key-a", EVERY - 1)]
    await _grow(path, EVERY - 1)
    assert _stored(path) == [("key-a", EVERY - 1)]
    await _grow(path, 1)
    assert _stored(path) == [("key-a", 2 * EVERY - 1)]


async def test_a_snapshot_of_other_rules_is_not_used_and_not_in_the_way(path: Path) -> None:
    await _grow(path, EVERY + 1)
    _sql(path, "UPDATE snapshots SET topic = 'older', state = '{\"quota\": 7777}'")

    async with started(path) as (streams, log):
        await log.append([Append("key-a", EVERY, grants(1))])
        assert (await streams.key("a")).state.quota == EVERY + 1
    async with started(path) as (streams, log):
        assert (await streams.key("a")).state.quota == EVERY + 1
        assert log.reads == [("key-a", 1), ("key-a", 0)]

    assert _sql(path, "SELECT topic FROM snapshots") == [("v3",)]


@pytest.mark.parametrize(
    "state", [b"", b"\xff", b'{"quota": "many"}', b"[]", b'{"secret_hash":"\xff"}']
)
async def test_a_damaged_snapshot_is_as_good_as_none(path: Path, state: bytes) -> None:
    await _grow(path, EVERY + 1)
    _sql(path, "UPDATE snapshots SET state = ?", state)

    async with started(path) as (streams, _):
        assert (await streams.key("a")).state.quota == EVERY


async def test_a_snapshot_ahead_of_its_stream_is_not_trusted(path: Path) -> None:
    """As when a log was cut back by hand: an append would find no version to follow."""
    await _grow(path, EVERY + 1)
    _sql(path, "UPDATE snapshots SET originator_version = originator_version + 1")

    async with started(path) as (streams, _):
        folded = await streams.key("a")
        assert (folded.version, folded.state.quota) == (EVERY, EVERY)
        events, _ = await streams.change("key-a", lambda _: grants(1), caused_by=StartCause())
        assert len(events) == 1


async def test_a_brand_is_snapshotted_only_while_it_holds_no_person(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "EVERY", 3)
    keys, run = MemoryKeyStore(), AcmeRun().verifying()
    running = len(run.events)
    assert running > 3
    run.verified(
        checked("p1", Verdict.DELIVERABLE, at=HOME), checked("p2", Verdict.UNDELIVERABLE)
    )

    async with started(path, keys) as (streams, log):
        await log.append([Append(STREAM, NO_STREAM, run.events[:running])])
        assert (await streams.brand(STREAM)).state.live is not None
    assert _stored(path) == []

    async with started(path, keys) as (streams, log):
        await log.append([Append(STREAM, running - 1, run.events[running:])])
        assert (await streams.brand(STREAM)).state == run.state

    assert _stored(path) == [(STREAM, len(run.events) - 1)]
    ((state,),) = _sql(path, "SELECT state FROM snapshots")
    assert msgspec.json.decode(state, type=brand.Brand) == run.state
    for personal in ("Ada", "Kern", "Ben", "linkedin", "@"):
        assert any(personal.encode() in msgspec.json.encode(event) for event in run.events)
        assert personal.encode() not in state


async def test_a_snapshot_that_its_events_do_not_fold_to_is_found(path: Path) -> None:
    await _grow(path, EVERY + 1)
    async with started(path) as (streams, _):
        assert [each async for each in streams.wrong_snapshots()] == []

    _sql(path, "UPDATE snapshots SET state = replace(CAST(state AS TEXT), '500', '501')")

    async with started(path) as (streams, _):
        wrong = [each.stream async for each in streams.wrong_snapshots()]
        assert wrong == ["key-a"]


def _busy(searches: int) -> list[key.KeyEvent]:
    """Return the events of a key with everything that its state holds in motion."""
    events: list[key.KeyEvent] = [ISSUED, *grants(5)]
    for n in range(searches):
        at = AT + timedelta(minutes=n)
        idempotency = key.Idempotency(f"key-{n}", f"body-{n}") if n % 2 else None
        search = key.SearchAdmitted(
            search=f"srch_{n}",
            brand="Acme",
            query=Query("Acme"),
            lookup=f"{STREAM}.{n}",
            idempotency=idempotency,
            at=at,
        )
        repeat = key.SearchRepeated(search=search.search, idempotency=idempotency, at=at)
        events += [search, repeat] if n % 3 else [search]
        if n >= 2:
            ended = key.settled(
                f"srch_{n - 2}", f"{STREAM}.{n}", "done", 1, cached=False, at=at
            )
            events.append(ended)
    return events


@pytest.mark.parametrize("category", ["key", "brand"])
def test_rules_that_fold_to_another_state_have_another_version(category: str) -> None:
    """Raise `Category.rules` in `cs.eventlog.categories`, then write the digest down here.

    An event that is new changes the rules too: a process that does not know it must not
    begin at a snapshot with that event in it.
    """
    known = CATEGORIES[category]
    events = golden_events(category)
    events += _busy(70) if category == "key" else AcmeRun().verifying().events
    digest, state = sha256(), known.initial
    for event in events:
        state = known.evolve(state, event)
        encoded = msgspec.json.encode(state, order="deterministic")
        assert msgspec.json.decode(encoded, type=type(known.initial)) == state
        digest.update(encoded)

    assert (known.rules, digest.hexdigest()[:16]) == FOLDED[category]


# Of the store, in both databases.


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, path: Path) -> Callable[[], Snapshots]:
    if request.param == "sqlite":
        return lambda: Snapshots.in_file(path)
    pool = request.getfixturevalue("pool")
    return lambda: Snapshots(PostgresDatabase(pool, snapshots_away))


async def _kept(store: Callable[[], Snapshots]) -> list[tuple[str, int, str]]:
    async with store() as snapshots:
        return [(each.stream, each.version, each.rules) async for each in snapshots.every()]


async def _submit(store: Callable[[], Snapshots], *each: Snapshot) -> None:
    async with store() as snapshots:
        for snapshot in each:
            snapshots.submit(snapshot)


async def test_of_a_stream_the_newest_is_kept_whichever_is_written_last(
    store: Callable[[], Snapshots],
) -> None:
    await _submit(store, Snapshot("key-a", 900, "v1", b"new"), Snapshot("key-b", 1, "v1", b""))
    await _submit(store, Snapshot("key-a", 500, "v1", b"old"))

    async with store() as snapshots:
        newest = await snapshots.find("key-a", "v1")
        assert newest == Snapshot("key-a", 900, "v1", b"new")
        assert await snapshots.find("key-a", "v2") is None
    await _submit(store, Snapshot("key-a", 901, "v2", b""))
    assert await _kept(store) == [("key-a", 901, "v2"), ("key-b", 1, "v1")]


async def test_more_than_a_bound_is_dropped(
    store: Callable[[], Snapshots], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_module, "WAITING", 2)
    async with store() as snapshots:
        for stream in "abc":
            snapshots.submit(Snapshot(f"key-{stream}", 500, "v1", b""))
    snapshots.submit(Snapshot("key-a", 1001, "v1", b""))  # it is closed

    assert await _kept(store) == [("key-a", 500, "v1"), ("key-b", 500, "v1")]


async def test_a_locked_file_costs_the_snapshots_of_that_moment_and_no_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_module, "LOCK_TIMEOUT_S", 0)

    def store() -> Snapshots:
        return Snapshots.in_file(path)

    await _submit(store, Snapshot("key-a", 1, "v1", b""))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await _submit(store, Snapshot("key-a", 500, "v1", b""))
    await _submit(store, Snapshot("key-b", 500, "v1", b""))

    assert await _kept(store) == [("key-a", 1, "v1"), ("key-b", 500, "v1")]


async def test_a_database_that_is_away_costs_its_snapshots(pool: Pool) -> None:
    async with Snapshots(PostgresDatabase(pool, snapshots_away)) as snapshots:
        pool.terminate()
        assert await snapshots.find("key-a", "v1") is None
        snapshots.submit(Snapshot("key-a", 500, "v1", b""))
