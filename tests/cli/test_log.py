"""`cs log verify`: finds what the rules forbid, in a log that really holds it."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.command import Here, Ran
from cs.assembly.folder_stores import open_folder
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import QuotaGranted, SearchAdmitted, SearchSettled
from cs.eventlog.port import NO_STREAM, Append
from cs.runtime.data_folder import DataFolder
from domain.golden_files import golden_event
from harness.served import served

AT = datetime(2100, 1, 1, tzinfo=UTC)  # after the key was issued
QUERY = Query("Acme")
LOOKUP = "brand-acme.1"
STARTED = LookupStarted(lookup=LOOKUP, number=1, query=QUERY, deadline_at=AT, at=AT)
FINISHED = LookupFinished(lookup=LOOKUP, outcome="done", reusable=True, verified=1, at=AT)
ADMITTED = SearchAdmitted(search="s1", brand="Acme", query=QUERY, lookup=LOOKUP, at=AT)
SETTLED = SearchSettled(
    search="s1", lookup=LOOKUP, outcome="done", charged=True, cached=False, at=AT
)


def planted(folder: Path, on_key: Sequence[AnyEvent], on_brand: Sequence[AnyEvent]) -> None:
    """Append events that nothing decided."""

    async def append() -> None:
        async with open_folder(DataFolder(folder)) as data:
            first = (await data.log.tail(0))[0]
            await data.log.append([Append("brand-acme", NO_STREAM, on_brand)])
            await data.log.append([Append(first.stream, first.version, on_key)])

    asyncio.run(append())


def verify(here: Here, folder: Path, *options: str) -> Ran:
    return here("log", "verify", "--json", *options, f"--data-dir={folder}")


def test_a_sound_log_is_told_in_numbers(folder: Path, here: Here) -> None:
    planted(folder, [ADMITTED, SETTLED], [STARTED, FINISHED])

    ran = here("log", "verify", "--at-rest", f"--data-dir={folder}")

    assert ran.code == 0
    assert ran.out == "5 events, 0 searches not settled, views at 0: no violations\n"


def test_every_violation_is_a_line_and_the_exit_code_tells(folder: Path, here: Here) -> None:
    planted(folder, [ADMITTED, SETTLED, SETTLED], [STARTED, FINISHED])

    ran = verify(here, folder)

    assert ran.code == 1
    (violation, counts) = ran.rows
    assert (violation["kind"], violation["position"]) == ("settled-twice", 6)
    assert violation["stream"].startswith("key-key_")
    assert counts == {"events": 6, "unfinished": 0, "views_at": 0, "violations": 1}


def test_a_violation_is_told_to_people_with_its_place(folder: Path, here: Here) -> None:
    planted(folder, [ADMITTED, SETTLED, SETTLED], [STARTED, FINISHED])

    ran = here("log", "verify", f"--data-dir={folder}")

    assert ran.code == 1
    assert ran.out.startswith("settled-twice key-key_")
    assert "s1 at 6\n" in ran.out
    assert ran.out.endswith("1 violations\n")


def test_data_keys_that_are_lost_are_told_for_each_event_and_person(
    folder: Path, here: Here
) -> None:
    finished = golden_event("brand.lookup-finished.v1")
    assert isinstance(finished, LookupFinished)
    started = replace(STARTED, lookup=finished.lookup, at=finished.at)
    planted(folder, [QuotaGranted(units=1, at=AT)], [started, finished])
    with closing(sqlite3.connect(folder / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM data_key WHERE name LIKE '%#p1'")

    ran = verify(here, folder)

    assert ran.code == 1
    (violation, counts) = ran.rows
    assert (violation["kind"], violation["stream"]) == ("key-lost", "brand-acme")
    assert violation["position"] == counts["events"] - 1
    assert f"{finished.lookup}#p1 reads as erased" in violation["what"]
    assert "Quillfeather" not in ran.out + ran.err


def test_only_a_log_at_rest_must_have_settled_everything(folder: Path, here: Here) -> None:
    planted(folder, [ADMITTED], [STARTED, FINISHED])

    assert verify(here, folder).code == 0
    at_rest = verify(here, folder, "--at-rest")

    assert at_rest.code == 1
    assert at_rest.rows[0]["kind"] == "unsettled"


def test_views_ahead_of_the_log_are_a_violation(folder: Path, here: Here) -> None:
    with sqlite3.connect(folder / "views.db") as views:
        views.execute("UPDATE view_sets SET position = 9")
    views.close()

    ran = verify(here, folder)

    assert ran.code == 1
    assert ran.rows[0]["what"] == "they show position 9, the log ends at 1"


def test_events_that_are_gone_are_told(folder: Path, here: Here) -> None:
    planted(folder, [ADMITTED, SETTLED], [STARTED, FINISHED])
    with sqlite3.connect(folder / "log.db") as log:
        log.execute("DELETE FROM stored_events WHERE rowid = 3")
    log.close()

    ran = verify(here, folder)

    assert ran.code == 1
    assert [row.get("kind") for row in ran.rows] == ["damaged", None]
    assert "the log is damaged" in ran.rows[0]["what"]


def test_a_damaged_event_is_named_and_the_rest_is_checked(folder: Path, here: Here) -> None:
    planted(folder, [ADMITTED, SETTLED, SETTLED], [STARTED, FINISHED])
    with sqlite3.connect(folder / "log.db") as database:
        database.execute("UPDATE stored_events SET state = 'x' WHERE rowid = 2")

    ran = verify(here, folder)

    assert ran.code == 1
    assert [row.get("kind") for row in ran.rows] == ["damaged", "settled-twice", None]
    assert ran.rows[0]["stream"] == "brand-acme"
    assert ran.rows[-1]["events"] == 6


def test_nothing_is_made_where_there_is_no_log(tmp_path: Path, here: Here) -> None:
    folder = tmp_path / "mistyped"

    told = here("log", "verify", f"--data-dir={folder}").told()

    assert "there is no data" in told
    assert not folder.exists()


@pytest.mark.slow
def test_it_reads_beside_a_running_service(tmp_path: Path, here: Here) -> None:
    with served(tmp_path / "data") as service:
        key = service.new_key()
        with service.client(key) as client:
            body = {"brand": "Veltrana", "wait": True}
            assert client.post("/contacts", json=body).status_code == 200
        ran = verify(here, tmp_path / "data")

    assert ran.code == 0, ran
    assert ran.rows[0]["events"] > 5
    assert ran.rows[0]["unfinished"] == 0
