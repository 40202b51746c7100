"""A page applied with few questions gives what one event after another gives."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.views import EVERY
from cs.domain.brand.events import BrandForgotten, ContactsErased, LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchSettled,
)
from cs.eventlog.port import RecordedEvent
from cs.projections.catalogue import projections
from cs.projections.postgres.folding import folded
from cs.projections.rows import Rows, Table
from cs.projections.sqlite.views import SqliteViews

pytestmark = pytest.mark.slow

AT = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = st.sampled_from("abc")
BRANDS = st.sampled_from(["brand-x", "brand-y"])


def _key_events(name: str) -> st.SearchStrategy[AnyEvent]:
    lookup = BRANDS.map(lambda brand: f"{brand}.1")
    search = st.tuples(st.just(name), st.integers(0, 2)).map(lambda pair: f"s{pair}")
    return st.one_of(
        st.builds(
            KeyIssued,
            label=NAMES,
            quota=st.integers(0, 5),
            secret_hash=NAMES,
            last4=NAMES,
            at=st.just(AT),
        ),
        st.builds(KeyRotated, secret_hash=NAMES, last4=NAMES, at=st.just(AT)),
        st.builds(KeyRevoked, at=st.just(AT)),
        st.builds(QuotaGranted, units=st.integers(1, 5), at=st.just(AT)),
        st.builds(
            SearchAdmitted,
            search=search,
            brand=NAMES,
            query=st.just(Query("Acme")),
            lookup=lookup,
            at=st.just(AT),
        ),
        st.builds(
            SearchSettled,
            search=search,
            lookup=lookup,
            outcome=st.sampled_from(["done", "timeout"]),
            charged=st.booleans(),
            cached=st.booleans(),
            at=st.just(AT),
        ),
    )


def _brand_events(stream: str) -> st.SearchStrategy[AnyEvent]:
    lookup = f"{stream}.1"
    return st.one_of(
        st.builds(
            LookupStarted,
            lookup=st.just(lookup),
            query=st.just(Query("Acme")),
            deadline_at=st.just(AT + timedelta(minutes=2)),
            at=st.just(AT),
        ),
        st.builds(
            LookupFinished,
            lookup=st.just(lookup),
            outcome=st.sampled_from(["done", "timeout"]),
            reusable=st.booleans(),
            verified=st.integers(0, 1),
            brand=st.none(),
            contacts=st.just(()),
            at=st.just(AT),
        ),
        st.builds(
            ContactsErased,
            lookup=st.just(lookup),
            contacts=st.just(()),
            verified=st.integers(0, 1),
            at=st.just(AT),
        ),
        st.builds(BrandForgotten, at=st.just(AT)),
    )


@st.composite
def logs(draw: st.DrawFn) -> list[RecordedEvent]:
    """A log in any order that streams allow, and in many that they do not."""
    event = st.one_of(
        NAMES.flatmap(lambda n: st.tuples(st.just(f"key-{n}"), _key_events(n))),
        BRANDS.flatmap(lambda s: st.tuples(st.just(s), _brand_events(s))),
    )
    drawn = draw(st.lists(event, max_size=40))
    return [RecordedEvent(n, stream, n, event) for n, (stream, event) in enumerate(drawn, 1)]


class Far:
    """Rows in memory, asked for through a counter."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, bytes]] = {table.name: {} for table in EVERY}
        self.asked: list[Mapping[str, Collection[str]]] = []

    async def fetch(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[tuple[str, str], bytes]:
        self.asked.append(wanted)
        asked = [(table, each) for table, ids in wanted.items() for each in ids]
        return {
            (table, each): self.rows[table][each]
            for table, each in asked
            if each in self.rows[table]
        }

    async def apply(self, page: Sequence[RecordedEvent]) -> None:
        rows = await folded(projections(), page, plain, self.fetch)
        for table, row_id, _, data in rows.changes():
            self.rows[table][row_id] = data


def plain(name: str, body: bytes) -> bytes:
    return name.encode() + body


@settings(max_examples=150, deadline=None)
@given(logs(), st.lists(st.integers(1, 15), min_size=1, max_size=40))
def test_rows_are_those_of_the_sqlite_file_whatever_the_page_cuts(
    log: list[RecordedEvent], sizes: list[int]
) -> None:
    async def both() -> None:
        far, views = Far(), SqliteViews(None, projections())
        start, cut = 0, 0
        while start < len(log):
            page = log[start : start + sizes[cut % len(sizes)]]
            await far.apply(page)
            start, cut = start + len(page), cut + 1
        for recorded in log:
            await views.apply([recorded], plain)
        for table in EVERY:
            kept = {row_id: table.decode(row) for row_id, row in far.rows[table.name].items()}
            assert kept == dict(await views.all(table))
        await views.close()

    asyncio.run(both())


class Hop(msgspec.Struct, frozen=True):
    to: str


HOPS = Table("usage", Hop)


class Chain:
    """Each row names the next to read: the worst there is for asking ahead."""

    name, version, tables = "chain", 1, (HOPS,)
    reads = None

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: object) -> None:
        del seal
        at = recorded.stream
        while (hop := rows.get(HOPS, at)) is not None:
            at = hop.to
        rows.put(HOPS, at, Hop(to=f"{at}+"))


async def test_rows_that_tell_which_rows_to_read_take_a_round_each() -> None:
    far = Far()
    page = [RecordedEvent(n, "a", n, QuotaGranted(units=1, at=AT)) for n in range(1, 4)]

    rows = await folded([Chain()], page, plain, far.fetch)

    assert {row_id for _, row_id, _, _ in rows.changes()} == {"a", "a+", "a++"}
    assert far.asked == [{"usage": {each}} for each in ("a", "a+", "a++")]


async def test_a_page_of_many_keys_asks_once() -> None:
    far = Far()
    issued = KeyIssued(label="", quota=1, secret_hash="h", last4="", at=AT)
    await far.apply([RecordedEvent(n, f"key-{n}", 0, issued) for n in range(1, 501)])
    assert far.asked == []

    grant = QuotaGranted(units=1, at=AT)
    await far.apply(
        [RecordedEvent(n, f"key-{n % 500 + 1}", 1, grant) for n in range(501, 1_501)]
    )

    assert [{table: len(ids) for table, ids in asked.items()} for asked in far.asked] == [
        {"usage": 500}
    ]
