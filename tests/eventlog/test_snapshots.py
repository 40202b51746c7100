"""Where folding may begin: snapshots are caches that are dropped whenever in doubt."""

import ast
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
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
from cs.eventlog import snapshots
from cs.eventlog import streams as deciding
from cs.eventlog.categories import CATEGORIES, shape_of
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.eventlog.snapshots import EVERY, Shape
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.sqlite.snapshots import SqliteSnapshots
from cs.eventlog.streams import Streams
from domain.acme_run import HOME, STREAM, AcmeRun, checked
from domain.golden_files import golden_events
from harness.memory_keys import MemoryKeyStore

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
    async with Counting(path, store) as log, SqliteSnapshots(path) as snapshots:
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


async def test_a_state_from_a_snapshot_is_the_state_of_the_whole_history(path: Path) -> None:
    await _grow(path, EVERY + 1)

    async with started(path) as (streams, log):
        whole = key.fold(
            r.event
            for r in await log.read("key-a")
            if isinstance(r.event, KeyIssued | QuotaGranted)
        )
        assert (await streams.key("a")).state == whole


async def test_a_snapshot_is_made_every_so_many_events_and_the_newest_is_kept(
    path: Path,
) -> None:
    await _grow(path, EVERY)  # versions to EVERY - 1: the whole is read as fast
    assert _stored(path) == [("key-a", EVERY - 1)]
    await _grow(path, EVERY - 1)
    assert _stored(path) == [("key-a", EVERY - 1)]
    await _grow(path, 1)
    assert _stored(path) == [("key-a", 2 * EVERY - 1)]


@pytest.mark.slow
async def test_a_key_that_is_kept_in_memory_is_snapshotted_as_it_grows(path: Path) -> None:
    async with started(path) as (streams, log):
        await log.append([Append("key-a", NO_STREAM, [ISSUED])])
        for n in range(2 * EVERY):
            folded = await streams.key("a")
            await log.append([Append("key-a", folded.version, grants(1))])
            assert folded.version == n
        await streams.key("a")

    assert _stored(path) == [("key-a", 2 * EVERY - 1)]


async def test_a_snapshot_of_another_shape_is_not_used_and_not_in_the_way(path: Path) -> None:
    await _grow(path, EVERY + 1)
    _sql(path, "UPDATE snapshots SET topic = 'older', state = '{\"quota\": 7777}'")

    async with started(path) as (streams, log):
        await log.append([Append("key-a", EVERY, grants(1))])
        assert (await streams.key("a")).state.quota == EVERY + 1
    async with started(path) as (streams, log):
        assert (await streams.key("a")).state.quota == EVERY + 1
        assert log.reads == [("key-a", 1), ("key-a", 0)]

    assert _sql(path, "SELECT topic FROM snapshots ORDER BY originator_version") == [
        ("older",),
        (shape_of("key").fingerprint,),
    ]


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


async def test_no_snapshot_to_be_had_is_no_reason_to_fail(path: Path) -> None:
    await _grow(path, EVERY + 1)

    async with started(path) as (streams, _):
        _sql(path, "DROP TABLE snapshots")
        assert (await streams.key("a")).state.quota == EVERY


async def test_a_brand_is_snapshotted_only_while_it_holds_nobody(
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
    for told in ("Ada", "Kern", "Ben", "linkedin", "@"):
        assert any(told.encode() in msgspec.json.encode(event) for event in run.events)
        assert told.encode() not in state


async def test_streams_that_stay_short_have_no_snapshots(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "EVERY", 1)
    async with started(path) as (streams, log):
        for stream, events in {
            "service": golden_events("service"),
            "mail-domain-a.test": golden_events("mail-domain"),
            "person-0a1b": golden_events("person"),
        }.items():
            await log.append([Append(stream, NO_STREAM, events)])
            assert (await streams.load(stream)).version == len(events) - 1

    assert _stored(path) == []


@pytest.mark.parametrize("category", ["key", "brand"])
def test_a_state_comes_back_from_its_snapshot_as_it_was(category: str) -> None:
    known, shape = CATEGORIES[category], shape_of(category)
    state, states = known.initial, 0
    for event in golden_events(category):
        state = known.evolve(state, event)
        states += 1
        assert shape.state(shape.snapshot("s", states, state)) == state
    assert states > 5


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


@pytest.mark.parametrize("cut", [0, 1, 59, 60, 61, 150, 299])
def test_folding_on_from_a_snapshot_is_folding_the_whole(cut: int) -> None:
    events, shape = _busy(120), shape_of("key")
    assert len(events) >= 300

    begun = shape.state(shape.snapshot("key-a", cut, key.fold(events[: cut + 1])))

    assert key.fold(events[cut + 1 :], begun) == key.fold(events)


class Place(msgspec.Struct):
    name: str = ""


class Before(msgspec.Struct):
    place: Place = msgspec.field(default_factory=Place)


class PlaceWithCountry(Place):
    country: str = ""


def test_a_shape_changes_with_a_field_however_deep_and_with_the_rules_that_fold() -> None:
    named = msgspec.defstruct("Before", [("place", PlaceWithCountry)])

    assert Shape(Before, key.evolve).fingerprint == Shape(Before, key.evolve).fingerprint
    assert Shape(Before, key.evolve).fingerprint != Shape(named, key.evolve).fingerprint
    assert Shape(Before, key.evolve).fingerprint != Shape(Before, brand.evolve).fingerprint


def test_the_shape_goes_by_the_rules_of_every_module_that_folding_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`brand.evolve` leaves most of the work to other modules of the domain."""
    sources = list(snapshots._rules("cs.domain.brand.brand"))
    assert snapshots._source("cs.domain.lookup.rules").code in sources
    before = snapshots.Shape(brand.Brand, brand.evolve).fingerprint

    source = snapshots._source
    changed = source("cs.domain.lookup.rules")._replace(code=ast.dump(ast.parse("other = 1")))
    monkeypatch.setattr(
        snapshots,
        "_source",
        lambda name: changed if name == "cs.domain.lookup.rules" else source(name),
    )

    assert snapshots.Shape(brand.Brand, brand.evolve).fingerprint != before
