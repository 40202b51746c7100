"""`cs events export` into files of tables, of what a service left that lived long."""

import asyncio
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from cli.command import Here, Ran, environment, ran
from cs.assembly.operator_command import open_command_context
from cs.eventlog.port import RecordedEvent
from cs.history.export.tables import TABLES
from cs.settings import Settings
from harness.in_process import on_folder
from harness.servers.fixtures import new_database
from history.export import naive
from history.export.test_typed import agree, rows_of
from history.recorded_answers import InDatabases, InFolder, Lifetime, Place, live_long, lived
from system.older_keys.forms import OnDatabases


class Left:
    """What a service left behind, and still has open."""

    def __init__(self, chosen: Settings, lifetime: Lifetime, here: Here) -> None:
        self.chosen = chosen
        self.lifetime = lifetime
        self._here = here

    @property
    def environment(self) -> Mapping[str, str]:
        if self.chosen.postgres is None:
            return {"CS_DATA_DIR": str(self.chosen.data_dir)}
        return {
            "CS_DATA_DIR": str(self.chosen.data_dir),
            "CS_POSTGRES": self.chosen.postgres,
            "CS_KEYS_POSTGRES": str(self.chosen.keys_postgres),
            "CS_MASTER_KEY_FILE": str(self.chosen.master_key_file),
        }

    def export(self, *words: str) -> Ran:
        return self._here("events", "export", *words, **self.environment)

    def recorded(self) -> Sequence[RecordedEvent]:
        """Return every event as the service reads it; who was erased is erased in it."""

        async def read() -> Sequence[RecordedEvent]:
            async with open_command_context(self.chosen) as data:
                return await data.log.tail(0, await data.log.head())

        return asyncio.run(read())


@pytest.fixture(params=["folder", "databases"])
async def left(
    request: pytest.FixtureRequest, tmp_path: Path, here: Here
) -> AsyncIterator[Left]:
    async def live(place: Place, chosen: Settings) -> AsyncIterator[Left]:
        async with lived(place) as lifetime:
            await live_long(lifetime)
            yield Left(chosen, lifetime, here)

    if request.param == "folder":
        in_folder = InFolder(tmp_path / "data")
        async for each in live(in_folder, in_folder.settings):
            yield each
        return
    postgres = request.getfixturevalue("postgres")
    async with new_database(postgres) as service, new_database(postgres) as keys:
        on = OnDatabases(service, keys, tmp_path)
        await on.migrate()
        async for each in live(InDatabases(on.settings), on.settings):
            yield each


@pytest.mark.slow
def test_every_table_holds_what_the_log_says(left: Left, tmp_path: Path) -> None:
    out = tmp_path / "history.duckdb"

    done = left.export(f"--out={out}")

    events = left.recorded()
    position = events[-1].position
    assert done.code == 0, done
    assert done.out == f"{len(TABLES)} tables up to position {position} written to {out}\n"
    found = rows_of(out)
    agree(found, naive.tables(events))
    assert {person["erased"] for person in found["people"]} == {True, False}
    assert sum(search["charged"] or False for search in found["searches"]) > 3
    assert {table.name for table in TABLES if not found[table.name]} <= {
        "mail_domains",
        "evidence",
    }
    assert b"Ada Kern" not in out.read_bytes()
    assert b"Ben Ode" not in out.read_bytes()
    assert b"Cid Fell" not in out.read_bytes()


@pytest.mark.slow
def test_some_of_it_is_exported_to_a_folder(left: Left, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    key = left.lifetime.keys[0].id

    done = left.export(f"--out={out}", "--format=tables", "--brand=Zenith", f"--key={key}")

    assert done.code == 0, done
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*(f"{table.name}.parquet" for table in TABLES), "views.sql"]
    )
    with duckdb.connect() as database:
        searches = f"read_parquet('{out}/searches.parquet')"
        brands = database.execute(f"SELECT DISTINCT brand, key FROM {searches}").fetchall()
    assert brands == [("Zenith", key)]


async def test_an_export_beside_a_service_that_goes_on(tmp_path: Path) -> None:
    folder, out = tmp_path / "data", tmp_path / "history.duckdb"
    async with on_folder(folder) as service:
        key = await service.new_key(quota=100)
        await service.search(key, brand="Acme")

        async def search_on() -> None:
            for n in range(4):
                await service.search(key, brand=f"Acme {n}")

        searching = asyncio.create_task(search_on())
        words = ("events", "export", f"--out={out}", f"--data-dir={folder}")
        done = await asyncio.to_thread(ran, *words)
        await searching
        events = await service.running.streams.log.tail(0, 10_000)

    assert (done.code, done.err) == (0, ""), done
    found = rows_of(out)
    upto = found["export"][0]["position"]
    agree(found, naive.tables(events[:upto]))


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """A data folder with one search in it."""

    async def search() -> None:
        async with on_folder(tmp_path / "data") as service:
            await service.search(await service.new_key(), brand="Acme")

    asyncio.run(search())
    return tmp_path / "data"


WITHOUT = """
import sys
sys.modules[{missing!r}] = None
from cs.cli.app import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("missing", ["duckdb", "pyarrow"])
def test_without_the_extra_one_line_says_what_to_install(
    missing: str, searched: Path, tmp_path: Path
) -> None:
    out = tmp_path / "history.duckdb"
    command = [sys.executable, "-c", WITHOUT.format(missing=missing), "events", "export"]
    where = [f"--data-dir={searched}", f"--out={out}"]

    tables = subprocess.run(
        [*command, *where], check=False, capture_output=True, text=True, env=environment()
    )
    lines = subprocess.run(
        [*command, *where, "--format=ndjson"],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
    )

    assert tables.returncode == 1
    assert tables.stderr == (
        f"cs: Parquet and DuckDB need {missing}, which is not installed: "
        "pip install 'contact-search[analytics]'; --format ndjson needs nothing\n"
    )
    assert (lines.returncode, lines.stderr) == (0, "")
    assert out.read_text().count("\n") > 10


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--format=duckdb",), 2, "--format duckdb: name the file with --out"),
        (("--out={}/x.duckdb", "--type=search-settled"), 2, "--type: tables need whole"),
        (("--out={}/x.duckdb", "--category=key"), 2, "--category: tables need whole"),
        (("--out={}/x.duckdb", "--stream=service"), 2, "--stream: tables need whole"),
        (("--out={}/x.duckdb", "--mail-domain=acme.test"), 2, "--mail-domain: tables need"),
        (("--out={}/none/x.duckdb",), 1, "No such file or directory"),
        (("--out={}/data", "--format=tables"), 2, "/data is there already: name another"),
        (("--out={}/x.csv", "--format=csv"), 2, "--format: one of ndjson, duckdb, tables"),
    ],
)
def test_what_cannot_be_made_is_told(
    words: Sequence[str], code: int, said: str, searched: Path, here: Here
) -> None:
    beside = searched.parent
    chosen = [word.format(beside) for word in words]

    assert said in here("events", "export", *chosen, f"--data-dir={searched}").told(code)
    assert [path.name for path in beside.iterdir()] == ["data"]


def test_a_folder_that_may_not_be_written_is_told(
    searched: Path, tmp_path: Path, here: Here
) -> None:
    (tmp_path / "letter").write_text("Dear Ada,\n")
    out = tmp_path / "letter" / "history.duckdb"

    ended = here("events", "export", f"--out={out}", f"--data-dir={searched}").told()

    assert "Not a directory" in ended


def test_a_full_disk_is_told_and_the_rest_written_later(searched: Path, tmp_path: Path) -> None:
    """No file may be larger than 1 MiB: DuckDB is refused as by a full disk."""
    out = tmp_path / "history.duckdb"
    command = [sys.executable, "-m", "cs", "events", "export", f"--data-dir={searched}"]

    full = subprocess.run(
        [*command, f"--out={out}"],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    there = out.exists()
    later = subprocess.run(
        [*command, f"--out={out}", "--resume"],
        check=False,
        capture_output=True,
        text=True,
        env=environment(),
    )

    assert (full.returncode, there) == (1, False), full
    assert full.stderr.startswith("cs: ")
    assert full.stderr.count("\n") == 1
    assert "File too large" in full.stderr
    assert later.returncode == 0, later
    assert rows_of(out)["searches"]
    assert not (tmp_path / "history.duckdb.part").exists()
