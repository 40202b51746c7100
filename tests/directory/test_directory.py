"""What every directory of people does, wherever it is kept."""

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.store import (
    EVERY,
    Changes,
    DirectoryStatus,
    DirectoryUnavailable,
    IndexEntries,
    PeopleDirectory,
    WrongDirectoryKey,
    forget_old_people,
)
from cs.runtime.private_files import DeletedDataRemains
from harness.manual_clock import ManualClock
from harness.places import Place, directory_in, open_database, sql, stored_bytes

FILE, TABLE = "directory.db", "directory_person"
DAY = date(2026, 11, 1)
ADA = DirectoryPerson(
    full_name="Ada Kern",
    title="Head of Influencer Marketing",
    company="Acme",
    profile="https://www.linkedin.com/in/ada-kern",
    email="ada.kern@acme.example",
    as_of=DAY,
)
BEN = DirectoryPerson(
    full_name="Ben Holt",
    company="Acme",
    profile="https://www.linkedin.com/in/ben-holt",
    as_of=date(2026, 11, 3),
)
CAM = DirectoryPerson(
    full_name="Cam Roe", company="Bolt", email="cam@bolt.example", as_of=date(2025, 1, 2)
)
ALL = frozenset(DirectoryPerson.__struct_fields__)


def index(person: DirectoryPerson) -> IndexEntries:
    """Return entries as easily told apart as those of the service."""
    prints = [_print(each) for each in (person.profile, person.email) if each]
    return IndexEntries(frozenset({f"name:{person.company}"}), tuple(prints))


def _print(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def row(person: DirectoryPerson, given: frozenset[str] = ALL) -> DirectoryRow:
    return DirectoryRow(person, given)


async def put(directory: PeopleDirectory, *people: DirectoryPerson) -> Changes:
    return await directory.put([row(each) for each in people], index)


def of(person: DirectoryPerson) -> str:
    return index(person).prints[0]


@pytest.fixture
async def directory(place: Place) -> AsyncIterator[PeopleDirectory]:
    async with directory_in(place) as directory:
        yield directory


async def test_a_new_directory_is_empty(directory: PeopleDirectory) -> None:
    assert not await directory.look()
    assert not directory.has_people
    assert await directory.people_at(["name:Acme"], limit=5) == []
    assert await directory.status() == DirectoryStatus()
    assert await directory.get(ADA.known_as) is None
    assert not await directory.remove(ADA.known_as)
    assert await directory.printed([of(ADA)]) == []
    assert await directory.erase([of(ADA)]) == await directory.clear() == 0
    assert await directory.forget_before(DAY) == 0


async def test_people_are_found_where_they_work_the_latest_known_first(
    directory: PeopleDirectory,
) -> None:
    assert await put(directory, ADA, BEN, CAM) == Changes(new=3)

    assert await directory.people_at(["name:Acme", "name:x"], limit=5) == [BEN, ADA]
    assert await directory.people_at(["name:Acme", "name:Bolt"], limit=1) == [BEN]
    assert await directory.people_at(["name:Acme Robotics"], limit=5) == []
    assert await directory.look()
    assert directory.has_people
    assert await directory.status() == DirectoryStatus(3, CAM.as_of, BEN.as_of)
    assert [await directory.get(each.known_as) for each in (ADA, CAM)] == [ADA, CAM]


async def test_the_same_again_changes_nothing(directory: PeopleDirectory) -> None:
    await put(directory, ADA, BEN)

    assert await put(directory, ADA, BEN) == Changes(unchanged=2)


async def test_who_moves_is_found_at_the_new_place_only(directory: PeopleDirectory) -> None:
    await put(directory, ADA, BEN)
    moved = replace(ADA, company="Bolt", email=None)

    assert await put(directory, moved) == Changes(updated=1)

    assert await directory.people_at(["name:Acme"], limit=5) == [BEN]
    assert await directory.people_at(["name:Bolt"], limit=5) == [moved]
    assert await directory.printed([index(ADA).prints[1]]) == [], "no mailbox any more"


async def test_what_a_file_does_not_tell_of_stays(directory: PeopleDirectory) -> None:
    await put(directory, ADA)
    later = replace(ADA, title="VP Social", email=None, as_of=date(2026, 11, 9))

    told = frozenset({"full_name", "profile", "title"})
    assert await directory.put([row(later, told)], index) == Changes(updated=1)
    again = await directory.put([row(replace(later, as_of=date(2026, 12, 1)), told)], index)

    assert await directory.get(ADA.known_as) == replace(later, email=ADA.email)
    assert again == Changes(unchanged=1), "a file is no newer when it is read again"


async def test_a_dry_run_says_what_would_change(directory: PeopleDirectory) -> None:
    await put(directory, ADA)
    rows = [row(ADA), row(replace(ADA, title="CMO")), row(BEN)]

    foreseen = await directory.put(rows, index, dry_run=True)

    assert foreseen == Changes(new=1, updated=1, unchanged=1)
    assert await directory.get(ADA.known_as) == ADA
    assert await directory.get(BEN.known_as) is None
    assert await directory.put(rows, index) == foreseen


async def test_who_is_erased_is_nowhere(directory: PeopleDirectory) -> None:
    await put(directory, ADA, BEN, CAM)

    assert await directory.printed([index(ADA).prints[1], of(CAM)]) in (
        [index(ADA).prints, index(CAM).prints],
        [index(CAM).prints, index(ADA).prints],
    )
    assert await directory.erase([index(ADA).prints[1], of(CAM)]) == 2

    assert await directory.people_at(["name:Acme", "name:Bolt"], limit=5) == [BEN]
    assert await directory.known_by([of(ADA), of(BEN)]) == [BEN]
    assert await directory.erase([of(ADA)]) == 0
    assert (await directory.status()).people == 1


async def test_one_is_removed_and_all_are(directory: PeopleDirectory) -> None:
    await put(directory, ADA, BEN, CAM)

    assert await directory.remove(ADA.known_as)
    assert not await directory.remove(ADA.known_as)
    assert await directory.get(ADA.known_as) is None
    assert await directory.clear() == 2

    assert not await directory.look()
    assert await put(directory, ADA) == Changes(new=1)


async def test_who_is_known_of_long_ago_is_forgotten(directory: PeopleDirectory) -> None:
    await put(directory, ADA, BEN, CAM)

    gone = 0
    while now := await directory.forget_before(BEN.as_of):
        gone += now

    assert gone == 2
    assert await directory.status() == DirectoryStatus(1, BEN.as_of, BEN.as_of)


async def test_no_byte_holds_a_person_in_clear_and_none_is_left_of_an_erased_one(
    directory: PeopleDirectory, place: Place
) -> None:
    await put(directory, ADA, BEN)
    table = "person" if isinstance(place, Path) else TABLE
    (who, box), _ = await sql(place, FILE, f"SELECT who, box FROM {table} ORDER BY as_of")
    stored = await stored_bytes(place, FILE, TABLE)
    assert box in stored
    for text in ("Ada", "ada-kern", "ada.kern", "Acme", "acme", "Influencer"):
        assert text.encode() not in stored

    async with directory_in(place, b"") as without_key:
        assert await without_key.erase([of(ADA)]) == 1

    left = await stored_bytes(place, FILE, TABLE)
    for gone in (who, box, bytes.fromhex(of(ADA))):
        assert gone not in left
    assert await directory.get(BEN.known_as) == BEN


async def test_who_reads_sees_what_another_process_imports(
    directory: PeopleDirectory, place: Place
) -> None:
    assert not await directory.look()
    async with directory_in(place) as other:
        await put(other, ADA)
        assert await directory.people_at(index(ADA).places, limit=5) == [ADA]
        await put(other, BEN)
    assert await directory.people_at(index(ADA).places, limit=5) == [BEN, ADA]


async def test_another_key_opens_nothing_until_it_is_emptied(
    directory: PeopleDirectory, place: Place
) -> None:
    await put(directory, ADA)
    async with directory_in(place, b"x" * 32) as other:
        for refused in (
            put(other, BEN),
            other.get(ADA.known_as),
            other.people_at(["name:Acme"], limit=5),
        ):
            with pytest.raises(WrongDirectoryKey, match="directory clear"):
                await refused
        assert (await other.status()).people == 1
        assert await other.clear() == 1
        await put(other, BEN)
        assert await other.get(BEN.known_as) == BEN


async def test_a_damaged_person_is_reported_as_such(
    directory: PeopleDirectory, place: Place
) -> None:
    await put(directory, ADA)
    table = "person" if isinstance(place, Path) else TABLE
    await sql(place, FILE, f"UPDATE {table} SET box = $1", b"x" * 40)

    with pytest.raises(DirectoryUnavailable, match="damaged"):
        await directory.get(ADA.known_as)


_PEOPLE = st.builds(
    DirectoryPerson,
    full_name=st.sampled_from(["Ada", "Ben"]),
    company=st.sampled_from(["Acme", "Bolt"]),
    title=st.none() | st.sampled_from(["CMO", "VP"]),
    profile=st.sampled_from([f"https://www.linkedin.com/in/p{n}" for n in range(4)]),
    as_of=st.just(DAY),
)
_FIELDS = st.sets(st.sampled_from(["title", "company", "as_of"])).map(
    lambda some: frozenset({"full_name", "profile", *some})
)
#: Imports, each of batches of rows.
BATCHES = st.lists(st.lists(st.tuples(_PEOPLE, _FIELDS), max_size=5), max_size=5)


@settings(max_examples=settings().max_examples // 3)
@given(BATCHES)
async def test_rows_come_to_a_dict_by_profile(
    batches: list[list[tuple[DirectoryPerson, frozenset[str]]]],
) -> None:
    model: dict[str, DirectoryPerson] = {}
    async with directory_in(None) as directory:
        for batch in batches:
            expected = Changes()
            for person, given in batch:
                before = model.get(person.known_as)
                told = {field: getattr(person, field) for field in given}
                after = person if before is None else replace(before, **told)
                expected.new += before is None
                expected.updated += before is not None and after != before
                expected.unchanged += after == before
                model[person.known_as] = after
            assert await directory.put([row(*each) for each in batch], index) == expected
        assert (await directory.status()).people == len(model)
        for known_as, person in model.items():
            assert await directory.get(known_as) == person
        for company in ("Acme", "Bolt"):
            there = await directory.people_at([f"name:{company}"], limit=10)
            in_model = [each for each in model.values() if each.company == company]
            assert sorted(there, key=str) == sorted(in_model, key=str)


# In a file.


async def test_while_another_process_reads_forgetting_says_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.sqlite.database.READERS_S", 0)  # or each waits 3 s
    async with directory_in(tmp_path, lock_timeout_s=0) as directory:
        await put(directory, ADA, BEN)
        with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            ((box,), _) = reader.execute("SELECT box FROM person ORDER BY as_of").fetchall()

            forgetting: tuple[Callable[[], Awaitable[object]], ...] = (
                lambda: directory.erase([of(ADA)]),
                lambda: directory.erase([of(ADA)]),  # nobody is left to forget
                lambda: directory.remove(BEN.known_as),
                lambda: directory.forget_before(date(2000, 1, 1)),
                directory.clear,
            )
            for forget in forgetting:
                with pytest.raises(DeletedDataRemains) as remains:
                    await forget()
                assert remains.value.files == (str(tmp_path / FILE),)
                assert not await directory.look() or await directory.get(ADA.known_as) is None

        assert await directory.erase([of(ADA)]) == 0
        assert box not in await stored_bytes(tmp_path, FILE, TABLE)


async def test_a_file_is_made_for_its_owner_when_a_person_is_first_stored(
    tmp_path: Path,
) -> None:
    async with directory_in(tmp_path) as directory:
        await directory.put([], index, dry_run=True)
        await directory.status()
        assert not (tmp_path / FILE).exists()

        await put(directory, ADA)
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


async def test_a_file_that_is_none_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database" * 100)

    async with directory_in(tmp_path) as directory:
        with pytest.raises(DirectoryUnavailable, match="not a database"):
            await directory.look()


# In PostgreSQL.


async def test_an_erasure_that_was_cut_off_is_finished_by_the_next(
    pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = directory_in(pool)
    await put(directory, ADA, BEN)

    async def cut_off(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr("cs.postgres.parts._drop_replaced", cut_off)
        with pytest.raises(asyncio.CancelledError):
            await directory.erase([of(ADA)])
    assert await _tables(pool) == 17

    assert await directory.erase([of(ADA)]) == 0

    assert await _tables(pool) == 16


async def test_two_imports_at_once_are_one_after_the_other(pool: Any) -> None:
    directory, other = directory_in(pool), directory_in(pool)
    title = frozenset({"full_name", "profile", "title"})
    company = frozenset({"full_name", "profile", "company"})

    done = await asyncio.gather(
        directory.put([row(replace(ADA, company=None), title)], index),
        other.put([row(replace(ADA, title=None), company)], index),
    )

    assert sorted(each.new for each in done) == [0, 1]
    found = await directory.get(ADA.known_as)
    assert found is not None
    assert (found.title, found.company) == (ADA.title, ADA.company)


async def test_a_database_that_is_away_is_reported_as_such() -> None:
    async with open_database("postgresql://nobody@127.0.0.1:1/none") as pool:
        with pytest.raises(DirectoryUnavailable, match="directory of people"):
            await directory_in(pool).look()


async def _tables(pool: Any) -> int:
    query = (
        r"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^directory_person_'"
    )
    return int(await pool.fetchval(query))


# As time goes by.

AT = datetime(2026, 11, 2, 12, tzinfo=UTC)
KEPT_FOR = timedelta(days=60)


async def test_people_go_once_they_are_too_old_also_after_it_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, clock = asyncio.Queue[str](), ManualClock(AT)
    fails = [
        DirectoryUnavailable("the disk is full"),
        RuntimeError("permission denied for schema public"),  # which nobody expects
    ]
    async with directory_in(None) as directory:
        forget = directory.forget_before

        async def watched(day: date) -> int:
            if fails:
                looked.put_nowait("failed")
                raise fails.pop(0)
            gone = await forget(day)
            if not gone:
                looked.put_nowait(f"{(await directory.status()).people} left")
            return gone

        monkeypatch.setattr(directory, "forget_before", watched)
        await put(directory, ADA, BEN)  # of the first and of the third of November
        async with asyncio.timeout(10), forget_old_people(directory, clock, KEPT_FOR):
            told = [await looked.get()]
            for now in (AT + EVERY, AT + 2 * EVERY, AT + KEPT_FOR, AT + 2 * KEPT_FOR):
                clock.set(now)
                told.append(await looked.get())

    assert told == ["failed", "failed", "2 left", "1 left", "0 left"]
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "ageing-directory"]
