"""A log that was restored from a backup does not pass for the one that answered callers."""

import asyncio
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.command import Ran, environment, ran
from cs import backup
from cs.assembly.one_process import run_embedded
from cs.operations import restored
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from harness.in_process import Service
from harness.outside import BEN
from harness.servers.databases import new_database
from harness.service_process import ServiceProcess
from harness.stores import opened
from operations.erasure.service import ADA_MAILBOX, BEN_MAILBOX, at_zenith, outside

pytestmark = pytest.mark.slow


@asynccontextmanager
async def serving(folder: Path, journal: Path | None = None) -> AsyncIterator[Service]:
    tools = outside(zenith=(at_zenith(BEN),), zenith_mail=("acme.test",))
    settings = Settings(data_dir=folder, erasure_journal=journal)
    async with run_embedded(settings, tools, "live") as running:
        yield Service(running, Operator(running.streams, SystemClock()))


async def search(folder: Path, key: NewSecret | None, brand: str) -> tuple[NewSecret, str]:
    async with serving(folder) as service:
        key = key or await service.new_key()
        return key, (await service.search(key, brand=brand)).json()["id"]


async def read(folder: Path, key: NewSecret, search: str) -> dict[str, Any]:
    async with serving(folder) as service:
        return await service.read(key, search)


def names(found: dict[str, Any]) -> list[str]:
    return [contact["full_name"] for contact in found["contacts"]]


def command(folder: Path, *words: str, **settings: str) -> Ran:
    return ran(*words, "--json", f"--data-dir={folder}", **settings)


def served(folder: Path, **settings: str) -> Ran:
    """Start the service on *folder*, which it refuses."""
    return ran("serve", "--port=0", "--admin-port=0", f"--data-dir={folder}", **settings)


def put_back(folder: Path, copy: Path, *files: str) -> None:
    for name in files:
        for old in (name, f"{name}-wal", f"{name}-shm"):
            (folder / old).unlink(missing_ok=True)
        shutil.copyfile(copy / name, folder / name)


async def test_an_older_log_is_refused_until_what_it_lacks_was_accepted(tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    key, first = await search(folder, None, "Acme")
    shutil.copytree(folder, copy)
    _, second = await search(folder, key, "Zenith")
    assert command(folder, "people", "erase", f"--email={ADA_MAILBOX}").code == 0
    put_back(folder, copy, "log.db")

    assert "a backup was restored" in served(folder).error()
    verified = command(folder, "log", "verify")
    assert (verified.code, verified.rows[0]["kind"]) == (1, "restored")
    assert command(folder, "status").rows[0]["restored"]

    *found, summary = command(folder, "restore", "accept", "--dry-run").rows
    assert summary["missing"] == {"lookup": 1, "search": 1, "erasure": 1}
    assert not summary["accepted"]
    (lost,) = [each for each in found if each["kind"] == "search"]
    assert lost["id"] == second
    assert lost["what"].startswith("done, charged")
    assert "a backup was restored" in served(folder).error(), "a dry run accepts nothing"

    assert command(folder, "restore", "accept").rows[-1]["epoch"] == 2
    assert names(await read(folder, key, first)) == ["Ben Ode"]
    assert "error" in await read(folder, key, second)
    assert command(folder, "log", "verify").code == 0
    (accepted,) = command(folder, "restore", "accept").rows
    assert not accepted["accepted"], "nothing is missing any more"


async def test_erasures_after_a_backup_of_log_and_keys_come_from_the_journal(
    tmp_path: Path,
) -> None:
    folder, copy, new = tmp_path / "data", tmp_path / "backup", tmp_path / "new"
    journal = {"CS_ERASURE_JOURNAL": str(tmp_path / "erasures.jsonl")}
    key, first = await search(folder, None, "Acme")
    assert ran("backup", str(copy), "--with-master-key", f"--data-dir={folder}").code == 0
    for mailbox in (ADA_MAILBOX, BEN_MAILBOX):
        erased = command(folder, "people", "erase", f"--email={mailbox}", **journal)
        assert erased.rows[0]["known"]
    lift = ("people", "suppressed", f"--email={BEN_MAILBOX}", "--lift=all")
    assert command(folder, *lift, **journal).code == 0
    written = (tmp_path / "erasures.jsonl").read_text()
    assert written.count("\n") == 3
    assert "ada" not in written.lower()

    assert ran("restore", str(copy), f"--data-dir={new}").code == 0
    assert names(await read(new, key, first)) == ["Ada Kern", "Ben Ode"], "a log cannot know"
    assert "lacks 3 erasures" in served(new, **journal).error()
    assert command(new, "restore", "accept", **journal).rows[-1]["accepted"]

    assert names(await read(new, key, first)) == []
    assert len(command(new, "people", "suppressed").rows) == 1, "one was lifted"
    assert not command(new, "restore", "accept", **journal).rows[-1]["accepted"]


async def test_a_line_of_an_erasure_that_was_done_later_refuses_no_service(
    tmp_path: Path,
) -> None:
    folder, file = tmp_path / "data", tmp_path / "erasures.jsonl"
    journal = {"CS_ERASURE_JOURNAL": str(file)}
    await search(folder, None, "Acme")
    erase = ("people", "erase", f"--email={ADA_MAILBOX}")
    assert command(folder, *erase, **journal).code == 0
    (line,) = file.read_bytes().splitlines(keepends=True)
    earlier = re.sub(rb'"at":"\d{4}', b'"at":"2001', line)
    torn = earlier[: len(earlier) // 2]
    file.write_bytes(line + earlier + torn)
    assert command(folder, *erase, **journal).code == 0
    assert torn + b'{"id"' not in file.read_bytes()

    async with serving(folder, file):
        pass
    (missing, summary) = command(folder, "restore", "accept", **journal).rows
    assert missing["known_by"] == "erasure_journal"
    assert summary["accepted"]
    assert "epoch" not in summary, "the log is the one that it was"
    assert not command(folder, "restore", "accept", **journal).rows[-1]["accepted"]


async def test_damage_does_not_keep_a_restored_log_from_being_accepted(tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    await search(folder, None, "Acme")
    assert command(folder, "people", "erase", f"--email={BEN_MAILBOX}").code == 0
    shutil.copytree(folder, copy)
    assert command(folder, "people", "erase", f"--email={ADA_MAILBOX}").code == 0
    put_back(folder, copy, "log.db")
    with closing(sqlite3.connect(folder / "log.db")) as db, db:
        db.execute(
            "UPDATE stored_events SET state = 'x' WHERE rowid IN "
            "(SELECT max(rowid) FROM stored_events WHERE originator_id LIKE 'brand-%')"
        )

    accepted = command(folder, "restore", "accept")

    assert accepted.code == 1, accepted
    assert "cs people reapply" in accepted.err
    assert accepted.rows[-1]["epoch"] == 2


async def test_a_new_journal_is_completed_and_one_that_is_away_refuses_no_service(
    tmp_path: Path,
) -> None:
    folder, file = tmp_path / "data", tmp_path / "erasures.jsonl"
    await search(folder, None, "Acme")
    assert command(folder, "people", "erase", f"--email={ADA_MAILBOX}").code == 0

    for _ in range(2):
        async with serving(folder, file):
            pass
    assert file.read_bytes().count(b"\n") == 1
    async with serving(folder, tmp_path):  # a folder cannot be read as a file
        pass
    away = {"CS_ERASURE_JOURNAL": str(tmp_path / "away" / "erasures.jsonl")}
    assert "erasures will fail" in str(ran("config", "check", "--json", **away).rows)


async def test_an_erasure_that_cannot_be_journalled_is_not_begun(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    key, first = await search(folder, None, "Acme")
    away = {"CS_ERASURE_JOURNAL": str(tmp_path / "away" / "erasures.jsonl")}

    erased = command(folder, "people", "erase", f"--email={ADA_MAILBOX}", **away)

    assert erased.error().startswith("erasure_journal: ")
    assert names(await read(folder, key, first)) == ["Ada Kern", "Ben Ode"]


async def test_a_process_ends_when_its_log_is_replaced_under_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restored, "LOOK_EVERY_S", 0.01)
    await search(tmp_path / "data", None, "Acme")

    async def replaced() -> None:
        async with serving(tmp_path / "data"), opened(tmp_path / "data") as data:
            await restored.begin_epoch(data.log, data.keys, data.clock)
            await asyncio.Event().wait()  # until it is ended

    with pytest.raises(ExceptionGroup) as ended:
        async with asyncio.timeout(60):
            await replaced()
    assert ended.group_contains(restored.LogBehind, match="start it again")


async def test_a_process_ends_when_its_log_is_shorter_than_what_it_has_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restored, "LOOK_EVERY_S", 0.01)
    await search(tmp_path / "data", None, "Acme")

    async def cut() -> None:
        async with serving(tmp_path / "data") as service:
            await service.search(await service.new_key(), brand="Zenith")
            with closing(sqlite3.connect(tmp_path / "data" / "log.db")) as db, db:
                db.execute("DELETE FROM stored_events WHERE rowid > 3")
            await asyncio.Event().wait()  # until it is ended

    with pytest.raises(ExceptionGroup) as ended:
        async with asyncio.timeout(60):
            await cut()
    assert ended.group_contains(restored.LogBehind, match="which ends at 3, does not have")


async def test_a_process_that_ends_looks_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restored, "LOOK_EVERY_S", 3600)
    await search(tmp_path / "data", None, "Acme")

    async with opened(tmp_path / "data") as data:
        mark = await data.keys.recovery.mark()
        assert mark is not None
        assert mark.position == await data.log.head()


async def test_a_look_while_a_backup_is_taken_does_not_make_its_log_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, at, new = tmp_path / "data", tmp_path / "backup", tmp_path / "new"
    key, first = await search(folder, None, "Acme")
    copy = backup._copy_database

    def looked(source: Path, target: Path) -> None:
        copy(source, target)
        if source.name == "log.db":
            with closing(sqlite3.connect(folder / "keys.db")) as db, db:
                db.execute("UPDATE log_mark SET position = position + 7, event = 'later'")

    monkeypatch.setattr(backup, "_copy_database", looked)
    folders = backup.backup_folders(at, None)
    now = SystemClock().now()
    await backup.make(DataFolder(folder), folders, now, with_master_key=True)

    assert ran("restore", str(at), f"--data-dir={new}").code == 0
    assert names(await read(new, key, first)) == ["Ada Kern", "Ben Ode"]
    assert "a backup was restored" in served(folder).error(), "the original is as it was"


@contextmanager
def project(settings: dict[str, str]) -> Iterator[None]:
    words = ("project", "--admin-port=0")
    process = ServiceProcess("project", words, environment(**settings))
    process.start()
    try:
        process.wait_ready()
        yield
    finally:
        process.stop()


async def test_a_database_that_was_restored_is_refused(postgres: str, tmp_path: Path) -> None:
    key = tmp_path / "master.key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    async with new_database(postgres) as log, new_database(postgres) as keys:
        settings = {
            "CS_POSTGRES": log,
            "CS_KEYS_POSTGRES": keys,
            "CS_MASTER_KEY_FILE": str(key),
        }
        assert ran("db", "migrate", **settings).code == 0
        assert ran("keys", "create", **settings).code == 0
        with project(settings):
            pass
        name = urlsplit(log).path.removeprefix("/")
        async with new_database(postgres, template=name) as older:
            assert ran("keys", "create", **settings).code == 0
            with project(settings):
                pass
            settings["CS_POSTGRES"] = older

            refused = ran("api", "--port=0", "--admin-port=0", **settings).error()
            assert "a backup was restored" in refused
            assert ran("log", "verify", "--json", **settings).rows[0]["kind"] == "restored"
            assert ran("restore", "accept", "--json", **settings).rows[-1]["epoch"] == 2
            assert ran("keys", "create", **settings).code == 0
            with project(settings):
                pass
            settings["CS_POSTGRES"] = log
            assert "a backup was restored" in ran("api", "--port=0", **settings).error()
