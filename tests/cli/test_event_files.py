"""`cs events export` into files of tables, of what a service left that lived long."""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from cli.command import Here, Ran, environment
from cs.domain.disclosure import DisclosureMade
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.settings import Settings
from harness.in_process import on_folder
from harness.on_data import data_of
from history.recorded_answers import InFolder, Lifetime, live_long, lived
from history.test_export import a_run, agree, rows_of

pytestmark = pytest.mark.slow


class Left:
    """What a service left behind in a folder, and still has open."""

    def __init__(self, chosen: Settings, lifetime: Lifetime, here: Here) -> None:
        self.chosen = chosen
        self.lifetime = lifetime
        self._here = here

    def export(self, *words: str) -> Ran:
        return self._here("events", "export", *words, f"--data-dir={self.chosen.data_dir}")

    def recorded(self) -> Sequence[RecordedEvent]:
        """Return every event as the service reads it; who was erased is erased in it."""

        async def read() -> Sequence[RecordedEvent]:
            async with data_of(self.chosen) as data:
                return await data.log.tail(0, await data.log.head())

        return asyncio.run(read())


@pytest.fixture
async def left(tmp_path: Path, here: Here) -> AsyncIterator[Left]:
    in_folder = InFolder(tmp_path / "data")
    async with lived(in_folder) as lifetime:
        await live_long(lifetime)
        yield Left(in_folder.settings, lifetime, here)


def test_a_parquet_file_holds_what_the_lines_do(left: Left, tmp_path: Path) -> None:
    out, lines = tmp_path / "events.parquet", tmp_path / "events.ndjson"

    done = left.export(f"--out={out}", "--category=brand")

    assert left.export(f"--out={lines}", "--category=brand").code == 0
    said = [json.loads(line) for line in lines.read_text().splitlines()]
    assert done.code == 0, done
    assert done.out == f"{len(said)} events written to {out}\n"
    with duckdb.connect() as database:
        found = database.execute(f"SELECT * FROM '{out}' ORDER BY position")
        names = [column[0] for column in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    assert [json.loads(row["data"]) for row in rows] == [each["data"] for each in said]
    for name in ("position", "stream", "version", "type"):
        assert [row[name] for row in rows] == [each[name] for each in said]
    times = [datetime.fromisoformat(each["at"]).replace(tzinfo=None) for each in said]
    assert [row["happened_at"] for row in rows] == times
    assert [row["lookup"] for row in rows] == [e["data"].get("lookup") for e in said]
    assert out.stat().st_mode & 0o777 == 0o600
    assert b"Ada Kern" not in out.read_bytes()


def test_an_export_that_reveals_people_stores_the_account_reason_and_file(
    left: Left, tmp_path: Path
) -> None:
    out, why = tmp_path / "history.duckdb", "Ticket 4711 asks for it"

    done = left.export(f"--out={out}", f"--reveal={why}")

    assert done.code == 0, done
    *events, last = left.recorded()
    assert isinstance(last.event, DisclosureMade)
    assert (last.event.why, last.event.file) == (why, "history.duckdb")
    found = rows_of(out)
    [held] = found["export"]
    assert (held["position"], held["revealed"]) == (last.event.upto, True)
    assert last.event.upto == last.position - 1, "as far as was said before it was opened"
    agree(found, events)
    assert {person["full_name"] for person in found["people"]} == {None, "Cid Fell"}

    again = left.export(f"--out={out}", f"--reveal={why}")

    assert "is there already" in again.error(2)
    assert left.recorded()[-1].position == last.position, "nothing was opened"


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """A data folder with some searches in it."""

    async def search() -> None:
        async with on_folder(tmp_path / "data") as service:
            key = await service.new_key()
            for brand in ("Acme", "Zenith", "Acme Two", "Acme Three", "Acme Four"):
                await service.search(key, brand=brand)

    asyncio.run(search())
    return tmp_path / "data"


async def fill(place: InFolder) -> None:
    async with place.stores() as data:
        for n in range(60):
            run = a_run(f"brand-{n:032x}")
            await data.log.append([Append(run.stream, NO_STREAM, run.events)])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--format=duckdb",), 2, "--format duckdb: name the file with --out"),
        (("--out={}/x.duckdb", "--type=search-settled"), 2, "tables need whole searches"),
        (("--out={}/x.duckdb", "--mail-domain=acme.test"), 2, "tables need whole searches"),
        (("--out={}/none/x.duckdb",), 2, "cannot be written: there is no folder"),
        (("--out={}/data", "--format=tables"), 2, "/data is there already: name another"),
        (("--out={}/none/x.ndjson",), 2, "x.ndjson cannot be written: there is no folder"),
        (("--out={}/x.csv", "--format=csv"), 2, 'Invalid value "csv" for --format'),
        (("--out={}/data/log.db/x.duckdb",), 2, "there is no folder"),
    ],
)
def test_what_cannot_be_made_is_reported(
    words: Sequence[str], code: int, said: str, searched: Path, here: Here
) -> None:
    beside = searched.parent
    chosen = [word.format(beside) for word in words]

    assert said in here("events", "export", *chosen, f"--data-dir={searched}").error(code)
    assert [path.name for path in beside.iterdir()] == ["data"]


@pytest.mark.parametrize("name", ["history.duckdb", "events.ndjson"])
def test_a_full_disk_is_reported_and_the_rest_written_later(name: str, tmp_path: Path) -> None:
    """No file may be larger than the command is allowed: as if the disk were full."""
    out = tmp_path / name
    asyncio.run(fill(InFolder(tmp_path / "data")))
    command = [sys.executable, "-m", "cs", "events", "export", f"--data-dir={tmp_path}/data"]

    def run(*more: str, most_bytes: int = resource.RLIM_INFINITY) -> Ran:
        limit = (most_bytes, most_bytes)
        ended = subprocess.run(
            [*command, f"--out={out}", *more],
            check=False,
            capture_output=True,
            text=True,
            env=environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        )
        return Ran(ended.returncode, ended.stdout, ended.stderr)

    # SQLite's file of shared memory has 32 KiB.
    full = run(most_bytes=40_000)
    later = run(*(["--resume"] if name == "events.ndjson" else []))

    assert "File too large" in full.error()
    assert later.code == 0, later
    if name == "history.duckdb":
        assert rows_of(out)["lookups"]
    else:
        positions = [json.loads(line)["position"] for line in out.read_text().splitlines()]
        assert positions == [*range(1, len(positions) + 1)]
    assert {path.name for path in tmp_path.iterdir()} == {"data", name}
