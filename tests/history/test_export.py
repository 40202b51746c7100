"""Typed tables, held against plain loops over random histories of the real domain."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

from cs.domain.brand import brand as brands
from cs.domain.brand.events import (
    ContactBounced,
    ContactsDiscovered,
    ContactsErased,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    RecordBounce,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
)
from cs.domain.codec import TOPICS, AnyEvent
from cs.domain.contact import BouncedMailbox
from cs.domain.key import (
    KeyIssued,
    KeyLimited,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchSettled,
)
from cs.domain.mail.mailbox import Verdict
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.domain.person import PersonErased
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    RecordedEvent,
)
from cs.history import export
from cs.history import history as reading
from cs.history.export import Form, export_tables
from cs.history.identities import identities
from cs.history.loading import load
from cs.history.report import FIGURES
from cs.history.selection import Selection
from cs.history.tables import TABLES
from domain.acme_run import AcmeRun, checked
from domain.golden_files import NAMES, golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.stores import opened

pytestmark = pytest.mark.slow

Row = dict[str, Any]

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Store:
    """A log in memory, its keys, and exports of it into a folder."""

    def __init__(self, folder: Path) -> None:
        self.keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.keys)
        self.folder = folder
        self.versions: dict[str, int] = {}

    async def append(
        self, stream: str, events: Sequence[AnyEvent], cause: AnyCause | None = None
    ) -> None:
        version = self.versions.get(stream, NO_STREAM)
        await self.log.append([Append(stream, version, events, cause)])
        self.versions[stream] = version + len(events)

    async def export(
        self,
        name: str = "history.duckdb",
        selection: Selection | None = None,
        form: Form = "duckdb",
        *,
        reveal: bool = False,
    ) -> Path:
        path = self.folder / name
        async with identities(self.log, self.keys) as people:
            await export_tables(
                self.log,
                self.keys,
                selection or Selection(),
                path,
                form,
                people=people,
                reveal=reveal,
            )
        return path


def rows_of(path: Path) -> dict[str, list[Row]]:
    """Return the rows of every table in the DuckDB file *path*."""
    with duckdb.connect(path, read_only=True) as database:
        return {name: _rows(database, f"SELECT * FROM {name}") for name in TABLES}


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    cursor = database.execute(query)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


#: The tables that have a row for each event of a type.
ROW_OF: dict[type[Any], tuple[str, ...]] = {
    SearchAdmitted: ("searches",),
    KeyIssued: ("keys", "key_events"),
    KeyRotated: ("key_events",),
    KeyRevoked: ("key_events",),
    QuotaGranted: ("key_events",),
    KeyLimited: ("key_events",),
    LookupStarted: ("lookups",),
    StageIssued: ("stages",),
    MailboxVerified: ("mailboxes",),
    MailboxNotVerified: ("mailboxes",),
    MailDomainChecked: ("mail_checks",),
    DomainLearned: ("mail_domains",),
    BounceReported: ("bounces",),
    ContactBounced: ("bounced_contacts",),
}


def agree(found: dict[str, list[Row]], events: Sequence[RecordedEvent]) -> None:
    """Hold the rows of each table against the events that they begin with."""
    at: dict[str, list[int]] = {name: [] for name in TABLES}
    people: dict[str, int] = {}
    for recorded in events:
        position, event = recorded.position, recorded.event
        for table in ("events", *ROW_OF.get(type(event), ())):
            at[table].append(position)
        if isinstance(event, SearchSettled) and event.charged:
            at["charges"].append(position)
        if isinstance(event, PeopleFound | ContactsDiscovered):
            for person in event.people:
                people.setdefault(f"{event.lookup}#{person.person}", position)
    at["people"] = sorted(people.values())
    begun = [name for name, positions in at.items() if positions]
    assert {name: [row["position"] for row in found[name]] for name in begun} == {
        name: at[name] for name in begun
    }


def a_run(stream: str = "brand-0a1b") -> AcmeRun:
    """A lookup that found and verified Ada, and not Ben."""
    run = AcmeRun(stream=stream).verifying()
    return run.verified(
        checked("p1", Verdict.DELIVERABLE), checked("p2", Verdict.UNDELIVERABLE)
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


async def recorded(store: Store) -> Sequence[RecordedEvent]:
    return await store.log.tail(0, await store.log.head())


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("is_ended", [False, True])
async def test_erased_people_stay_so_when_an_older_key_store_is_put_back(
    store: Store, reveal: bool, is_ended: bool
) -> None:
    run = AcmeRun().verifying()
    checks = (checked("p1", Verdict.DELIVERABLE), checked("p2", Verdict.UNDELIVERABLE))
    if is_ended:
        run.verified(*checks)
    else:
        lookup = run.live.id
        run.events += (
            MailboxVerified(lookup=lookup, checked=checks[0], at=run.at),
            MailboxNotVerified(lookup=lookup, checked=checks[1], at=run.at),
        )
    await store.append(run.stream, run.events)
    bounce = golden_event("brand.contact-bounced.v1")
    assert isinstance(bounce, ContactBounced)
    mailbox = BouncedMailbox(person="p1", address="p1@acme.example", diagnostic="gone")
    bounced = replace(bounce, lookup=f"{run.stream}.1", bounced=mailbox, contacts=())
    await store.append(run.stream, (bounced,))
    event = ContactsErased(lookup=f"{run.stream}.1", people=("p1", "p2"), at=run.at)
    await store.append(run.stream, (event,))

    found = rows_of(await store.export(reveal=reveal))

    gone = [
        column.name
        for column in TABLES["people"].columns
        if column.is_erased or column.personal
    ]
    for person in found["people"]:
        assert person["erased"]
        assert not any(person[name] for name in gone)
    assert [person["verdict"] for person in found["people"]] == ["deliverable", None]
    assert [(m["verified"], m["verdict"], m["rule"]) for m in found["mailboxes"]] == [
        (True, "deliverable", None),
        (False, None, None),
    ]
    assert found["evidence"] == []
    assert len(found["bounced_contacts"]) == 1
    assert not any(row["address"] or row["diagnostic"] for row in found["bounced_contacts"])


async def test_a_key_destroyed_by_another_process_opens_no_later_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "WINDOW", 4)
    run, checks = a_run(), []
    async with opened(tmp_path) as here, opened(tmp_path) as other:
        await here.log.append([Append(run.stream, NO_STREAM, run.events)])
        async for page in load(here.log, here.keys, Selection()):
            for _, recorded in page.events:
                event = recorded.event
                if isinstance(event, ContactsDiscovered):
                    assert [p.full_name for p in event.people] == ["Ada Kern", "Ben Ode"]
                    await other.keys.destroy([f"{event.lookup}#p1"])
                elif isinstance(event, MailboxVerified):
                    checks.append(event.checked)

    assert [(each.person, each.address) for each in checks] == [("p1", None)]


async def test_without_reveal_no_name_or_address_is_in_any_file(store: Store) -> None:
    run = a_run()
    await store.append(run.stream, run.events)

    file, folder = await store.export(), await store.export("tables", form="tables")

    found = rows_of(file)
    assert found["people"][0]["verdict"] == "deliverable"
    assert found["people"][0]["mail_domain"] == "acme.example"
    assert found["people"][0]["rule"] == "asked"
    assert found["people"][0]["who"].startswith("person_")
    for table in TABLES.values():
        for column in table.columns:
            if column.personal:
                assert {row[column.name] for row in found[table.name]} <= {None}, column
    for made in (file, *folder.iterdir()):
        written = made.read_bytes()
        assert not any(
            word in written for word in (b"Ada", b"Kern", b"p1@acme", b"linkedin.com/in")
        )
        assert made.stat().st_mode & 0o777 == 0o600


async def test_values_whose_key_is_lost_are_empty_and_noted(store: Store) -> None:
    run = a_run()
    await store.append(run.stream, run.events)
    del store.keys._keys[f"{run.finish.lookup}#p1"]

    found = rows_of(await store.export())

    assert [(p["verdict"], p["erased"]) for p in found["people"]] == [
        ("deliverable", False),  # that an e-mail was verified is not sealed
        ("undeliverable", False),
    ]
    assert next(p["sources"] for p in found["people"]) is None
    assert store.keys.lost.keys == {"missing": 1}


async def test_every_event_ever_stored_is_exported(store: Store) -> None:
    events = [(name.split(".")[0], golden_event(name)) for name in NAMES]
    for category, event in events:
        await store.append(f"{category}-{len(store.versions)}", (event,))

    found = rows_of(await store.export(reveal=True))

    assert len(found["events"]) == len(events)
    assert {row["type"] for row in found["events"]} == set(TOPICS)
    # A run is exported from its beginning on: most of these events are of none.
    full = {name for name in TABLES if found[name]}
    assert full >= {"searches", "lookups", "charges", "keys", "key_events", "events"}


async def test_the_ready_views_answer_from_both(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run()
    await store.append(run.stream, run.events)
    file, folder = await store.export(), await store.export("tables", form="tables")

    with duckdb.connect(file, read_only=True) as database:
        from_file = {each.name: _rows(database, f"FROM {each.name}") for each in FIGURES}
    monkeypatch.chdir(folder)
    with duckdb.connect() as database:
        database.execute((folder / "views.sql").read_text())
        from_folder = {each.name: _rows(database, f"FROM {each.name}") for each in FIGURES}

    assert from_file == from_folder
    (verified, refused) = from_file["verdicts"]
    assert (verified["people"], verified["share"]) == (1, 0.5)
    assert refused["verdict"] == "undeliverable"


# Some of it.


async def test_a_bounce_stands_next_to_the_verifier_that_had_verified(store: Store) -> None:
    run = a_run()
    await store.append(run.stream, run.events)
    (ada,) = [e.checked for e in run.events if isinstance(e, MailboxVerified)]
    told = golden_event("mail-domain.bounce-reported.v1")
    await store.append("mail-domain-acme.test", (told,))
    bounced = RecordBounce(
        lookup=run.finish.lookup,
        bounced=BouncedMailbox(person="p1", address="ada.kern@acme.test", diagnostic="gone"),
        bounced_at=run.at,
        status="5.1.1",
        why="recipient-refused",
        checked=ada,
        verified_at=run.at,
        contacts=run.finish.contacts,
        at=run.at,
    )
    await store.append(run.stream, brands.decide(bounced, run.state))
    before = await recorded(store)

    hidden = rows_of(await store.export("hidden.duckdb"))
    file = await store.export("shown.duckdb", reveal=True)

    found = rows_of(file)
    agree(hidden, before)
    agree(found, before)
    assert [row["email"] for row in found["people"] if row["verified"]] == [None]
    assert [row["diagnostic"] for row in found["bounced_contacts"]] == ["gone"]
    with duckdb.connect(file, read_only=True) as database:
        (row,) = _rows(database, "FROM wrong_verdicts")
    assert (row["emails"], row["bounced"]) == (1, 1)

    await store.keys.destroy([f"{run.finish.lookup}#p1"])
    gone = PersonErased(at=run.at, found_in=(f"{run.finish.lookup}#p1",))
    await store.append("person-1", (gone,))
    later = rows_of(await store.export("erased.duckdb", reveal=True))
    agree(later, await recorded(store))
    assert not any(row["address"] or row["diagnostic"] for row in later["bounced_contacts"])


async def test_tables_as_of_a_position_are_those_of_the_events_up_to_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROWS", 3)
    monkeypatch.setattr(reading, "WINDOW", 4)
    run = a_run()
    await store.append(run.stream, run.events)
    events = await recorded(store)

    for upto in (1, 5, len(events) - 1, len(events)):
        found = rows_of(await store.export(f"{upto}.duckdb", Selection(upto=upto)))
        agree(found, events[:upto])
