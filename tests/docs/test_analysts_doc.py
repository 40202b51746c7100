"""The page for analysts: every query runs on both stores, and every event is in its table."""

import asyncio
import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import duckdb
import pytest
from msgspec import inspect

from cli.command import ran
from cs.domain.brand.events import LookupFinished
from cs.domain.causation import OperatorCause
from cs.domain.codec import TOPICS
from cs.domain.personal import Personal
from cs.eventlog.port import NO_STREAM, Append
from domain.golden_files import golden_events
from harness.in_process import on_folder
from harness.memory_keys import MemoryKeyStore
from harness.on_data import plant
from harness.places import log_in, open_database

PAGE = (Path(__file__).parents[2] / "docs" / "analysts.md").read_text()
BLOCKS: list[str] = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
BRAND = "brand-75722a2d522d7286f038c2dcdf267824"
STREAMS = {"key": "key-k1", "brand": BRAND, "mail-domain": "mail-domain-acme.example"}


def statements(store: str) -> list[str]:
    """Return the queries of the page for *store*, the view they read first."""
    return [block for block in BLOCKS if _meant_for(block) in {None, store}]


def _meant_for(block: str) -> str | None:
    """Return which store *block* says it is for; ``None``: it says nothing."""
    said = re.match(r"-- ((?:SQLite|PostgreSQL|DuckDB)\b.*)\n", block)
    return None if said is None else said[1]


def of_an_export() -> list[str]:
    """Return the queries of the page for a DuckDB file."""
    blocks = [block for block in BLOCKS if _meant_for(block) == "DuckDB, typed tables"]
    return [query for block in blocks for query in block.split(";") if query.strip()]


CREATED = OperatorCause(command="keys create")
APPENDS = [
    Append(each, NO_STREAM, golden_events(name), CREATED if name == "key" else None)
    for name, each in STREAMS.items()
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    plant(tmp_path / "cs-data", *APPENDS)
    return tmp_path / "cs-data"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB file of the history that a service left."""
    folder = tmp_path_factory.mktemp("exported") / "data"

    async def search() -> None:
        async with on_folder(folder) as service:
            key = await service.new_key()
            for _ in range(2):
                await service.search(key, brand="Acme")

    asyncio.run(search())
    out = folder.parent / "history.duckdb"
    assert ran("events", "export", f"--out={out}", f"--data-dir={folder}").code == 0
    with duckdb.connect(out, read_only=True) as database:
        yield database


def on_sqlite(folder: Path) -> list[list[tuple[Any, ...]]]:
    connection = sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True)
    try:
        view, *queries = statements("SQLite")
        connection.execute(view)
        return [connection.execute(query).fetchall() for query in queries]
    finally:
        connection.close()


async def on_postgres(dsn: str) -> list[list[tuple[Any, ...]]]:
    connection = await asyncpg.connect(dsn)
    try:
        view, *queries = statements("PostgreSQL")
        await connection.execute(view)
        return [[tuple(row) for row in await connection.fetch(query)] for query in queries]
    finally:
        await connection.close()


async def as_analyst(dsn: str) -> list[list[tuple[Any, ...]]]:
    """Run the queries as a login that may read the one table."""
    owner = await asyncpg.connect(dsn)
    name = f"analyst_{dsn.rpartition('/')[2]}"[:60]
    try:
        await owner.execute(f'CREATE ROLE "{name}" LOGIN')
        await owner.execute(f'GRANT SELECT ON stored_events TO "{name}"')
        try:
            return await on_postgres(re.sub(r"//[^@/]*@", f"//{name}@", dsn))
        finally:
            await owner.execute(f'DROP OWNED BY "{name}"')
            await owner.execute(f'DROP ROLE "{name}"')
    finally:
        await owner.close()


def test_every_query_answers_alike_on_both_stores(folder: Path, every_database: str) -> None:
    async def run() -> list[list[tuple[Any, ...]]]:
        async with open_database(every_database, "service") as pool:
            async with log_in(pool, MemoryKeyStore()) as log:
                await log.append(APPENDS)
            return await as_analyst(every_database)

    embedded = on_sqlite(folder)
    assert asyncio.run(run()) == embedded
    assert len(embedded) == 4
    assert all(rows and rows != [(None,)] for rows in embedded)


def test_what_the_queries_find_is_what_was_stored(folder: Path) -> None:
    outcomes, charges, steps, position = on_sqlite(folder)

    finished = [each for each in golden_events("brand") if isinstance(each, LookupFinished)]
    assert dict(outcomes) == {"done": len(finished)}
    assert charges == [("key-k1", 1, 1)]
    assert [version for _, version, *_ in steps] == list(range(len(golden_events("brand"))))
    assert steps[0][2] == "brand.lookup-started.v1"
    assert position == [(_stored(),)]


def on_duckdb(view: str) -> list[list[tuple[Any, ...]]]:
    with duckdb.connect() as database:
        database.execute(view)
        return [database.execute(query).fetchall() for query in statements("DuckDB")]


@pytest.mark.slow
def test_duckdb_answers_alike_from_an_export(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    assert ran("events", "export", "--out=events.parquet", f"--data-dir={folder}").code == 0
    (view,) = (block for block in BLOCKS if _meant_for(block) == "DuckDB, events.parquet")

    assert on_duckdb(view) == on_sqlite(folder)


@pytest.mark.slow
@pytest.mark.parametrize("query", of_an_export())
def test_every_query_of_an_export_answers(
    query: str, exported: duckdb.DuckDBPyConnection
) -> None:
    assert exported.execute(query).fetchall()


def test_every_event_is_in_the_table_with_its_fields() -> None:
    rows = re.findall(
        r"^\| `([\w-]+\.[\w.-]+\.v\d+)` \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE
    )

    assert {topic: (_names(clear), _names(sealed)) for topic, _, clear, sealed in rows} == {
        topic: _fields(shape) for topic, shape in TOPICS.items()
    }
    assert len(rows) == len(TOPICS)


def _stored() -> int:
    return sum(len(golden_events(category)) for category in STREAMS)


def _names(cell: str) -> Sequence[str]:
    return re.findall(r"`(\w+)`", cell)


def _fields(shape: type) -> tuple[list[str], list[str]]:
    """Return the names of the fields of *shape* in clear, and of those that hold people."""
    described = inspect.type_info(shape)
    assert isinstance(described, inspect.StructType)
    clear: list[str] = []
    sealed: list[str] = []
    for field in described.fields:
        if field.name not in {"at", "clock"}:
            (sealed if _is_about_people(field.type) else clear).append(field.encode_name)
    return clear, sealed


def _is_about_people(kind: inspect.Type) -> bool:
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            return issubclass(cls, Personal) or any(_is_about_people(f.type) for f in fields)
        case inspect.VarTupleType(item_type=item):
            return _is_about_people(item)
        case inspect.UnionType(types=types):
            return any(map(_is_about_people, types))
        case _:
            return False
