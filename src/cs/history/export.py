"""Exports: the history as files that an analyst's own tools read.

Rows of runs, searches, keys and events (`cs.history.rows`) are appended by DuckDB to a file
in a folder next to the file that is made.  At the end the typed tables
(`tables.sql`) are selected from it, with the figures of reports as views, into a DuckDB file
or Parquet files.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import duckdb
import msgspec

from cs.eventlog.port import EventLog, LogUnavailable
from cs.eventlog.sealing import key_name
from cs.history.history import History, Progress, Unreadable, pass_over, refuse, unseen
from cs.history.identities import Identities
from cs.history.loading import load
from cs.history.part_folder import ExportFailed, part_of
from cs.history.report import FIGURES, MACROS
from cs.history.rows import Row, event_rows, run_rows, search_row
from cs.history.selection import Selection
from cs.history.tables import TABLES
from cs.keystore.port import KeyStore, KeysUnavailable

Form = Literal["duckdb", "tables"]

#: Bytes that DuckDB holds in memory at most; it sorts and joins on disk beyond.
MEMORY = 10**9
#: Rows that are collected before DuckDB appends them, some 500 bytes each.
ROWS = 50_000

#: The columns of the tables that are gathered, with the order of the rows.
_GATHERED = {name: f"{table.definition}, row_n BIGINT" for name, table in TABLES.items()}
#: Columns of a line of JSON.
_EVENTS = (
    "position BIGINT, stream VARCHAR, version INTEGER, type VARCHAR, at TIMESTAMP, data VARCHAR"
)
_PARQUET = "(FORMAT parquet, COMPRESSION zstd)"


class TableWriter:
    """Appends rows to tables in the DuckDB file *folder*/``gathered.duckdb``.

    Args:
        folder: For that file, and for data that exceeds `MEMORY`.
        reveal: Write personal columns, too.
    """

    def __init__(self, folder: Path, *, reveal: bool = False) -> None:
        self._folder = folder
        self._columns: dict[str, list[str]] = {}
        for name, table in TABLES.items():
            allowed = [c.name for c in table.columns if reveal or not c.personal]
            self._columns[name] = [*allowed, "row_n"]
        self._waiting = defaultdict[str, list[Mapping[str, Any]]](list)
        self._count = 0
        self._database = connect(folder)
        self.run(f"ATTACH {quoted(folder / 'gathered.duckdb')} AS gathered")
        for name, definition in _GATHERED.items():
            self.run(f"CREATE TABLE gathered.{name} ({definition})")

    def add(self, rows: Iterable[Row]) -> None:
        """Append *rows*, without fields that their table lacks or that must stay hidden."""
        for name, row in rows:
            self._count += 1
            numbered = {**row, "row_n": self._count}
            columns = self._columns[name]
            kept = {c: numbered[c] for c in columns if numbered.get(c) is not None}
            self._waiting[name].append(kept)
            if self._count % ROWS == 0:
                self.flush()

    def flush(self) -> None:
        """Append the rows that are collected."""
        file = self._folder / "rows.ndjson"
        for name, rows in self._waiting.items():
            file.write_bytes(msgspec.json.Encoder().encode_lines(rows))
            lines = _lines_of(file, _GATHERED[name])
            self.run(f"INSERT INTO gathered.{name} BY NAME SELECT * FROM {lines}")
            file.unlink()
        self._waiting.clear()

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run *statement* and return its rows.

        Raises:
            ExportFailed: It cannot be written.
        """
        return _run(self._database, statement)

    def close(self) -> None:
        self._database.close()

    def make_file(self, out: Path) -> duckdb.DuckDBPyConnection:
        """Make the tables and views in the DuckDB file *out*; return a connection to it.

        Raises:
            ExportFailed: It cannot be written.
        """
        self.flush()
        self.run(f"ATTACH {quoted(out)} AS made")
        for name, table in TABLES.items():
            self.run(f"CREATE TABLE made.{name} ({table.definition})")
            self.run(f"INSERT INTO made.{name} {table.selected}")
            self.run(_comment(f"TABLE made.{name}", table.about))
            for column in table.columns:
                self.run(_comment(f"COLUMN made.{name}.{column.name}", column.about))
        self.run("USE made")
        for macro in MACROS:
            self.run(macro)
        for figure in FIGURES:
            self.run(f"CREATE VIEW {figure.name} AS {figure.sql}")
            self.run(_comment(f"VIEW {figure.name}", figure.about))
        return self._database

    def make_folder(self, out: Path) -> None:
        """Make a folder of Parquet files, and ``views.sql`` with the views over them.

        Raises:
            ExportFailed: It cannot be written.
        """
        self.flush()
        out.mkdir()
        for name, table in TABLES.items():
            self.run(f"COPY ({table.selected}) TO {quoted(out / f'{name}.parquet')} {_PARQUET}")
        statements = (
            *(f"CREATE VIEW {name} AS FROM read_parquet('{name}.parquet')" for name in TABLES),
            *MACROS,
            *(f"CREATE VIEW {figure.name} AS {figure.sql}" for figure in FIGURES),
        )
        (out / "views.sql").write_text("".join(f"{each};\n" for each in statements))


async def fill(
    writer: TableWriter,
    log: EventLog,
    keys: KeyStore,
    selection: Selection,
    *,
    people: Identities | None = None,
    revealed: bool = False,
    canary: bool = True,
    unreadable: Unreadable = refuse,
    progress: Progress = unseen,
) -> None:
    """Append all rows of *selection*, which has a last position, with *writer*.

    The runs, searches and keys that it touches are whole.  Without *people*, which know
    pseudonyms, `who` stays empty; *revealed* is as the writer has it, *canary* as `load`.

    Raises:
        ExportFailed: It cannot be written.
        LogUnavailable: The log cannot be read now.
        DamagedEvent, NewerEvent: As *unreadable* raises them.
    """
    lost, erased = set[str](), await _erased_with_keys(log, keys)
    async for part in load(
        log, keys, selection, canary=canary, unreadable=unreadable, progress=progress
    ):
        lost |= part.lost
        for event in part.events:
            writer.add(event_rows(event, erased))
        for run in part.runs:
            for person in run.people:
                person.erased |= key_name(run.lookup, person.person) in erased
        names = (name for run in part.runs for name in run.names())
        who = {} if people is None else await people.of(names)
        for run in part.runs:
            writer.add(run_rows(run, lost, who))
        writer.add(map(search_row, part.searches))
        writer.add(("keys", msgspec.structs.asdict(key)) for key in part.keys)
    chosen = msgspec.json.encode(selection).decode()
    held = {"since": selection.since, "until": selection.until, "selection": chosen}
    writer.add([("export", {**held, "position": selection.upto, "revealed": revealed})])
    writer.flush()


async def _erased_with_keys(log: EventLog, keys: KeyStore) -> frozenset[str]:
    """Return the people, ``<lookup>#p1``, who were erased and have a key all the same.

    There are none, unless an older key store was put back.
    """
    erased = Selection(types=("brand.contacts-erased",))
    found = set[str]()
    keys.forget()
    async for page in History(log).pages(erased, unreadable=pass_over):
        names = [key_name(str(e.lookup), person) for e in page for person in e.data()["people"]]
        try:
            found |= (await keys.find(names)).keys()
        except KeysUnavailable as error:
            raise LogUnavailable(f"the data keys could not be read: {error}") from error
    return frozenset(found)


async def export_tables(
    log: EventLog,
    keys: KeyStore,
    selection: Selection,
    out: Path,
    form: Form,
    *,
    people: Identities,
    reveal: bool = False,
    head: int | None = None,
    progress: Progress = unseen,
) -> int:
    """Write typed tables of *selection* to *out*; return the position up to which they go.

    ``duckdb`` makes one file, ``tables`` a folder of Parquet files, which appears when it is
    complete.  No event after *head* is read.  Note it before (`Operator.disclose`) if personal
    columns are written, too (*reveal*).

    Raises:
        OtherExport: There is a file already.
        ExportFailed: It cannot be written.
        LogUnavailable, DamagedEvent, NewerEvent: The log cannot be read.
    """
    head = await log.head() if head is None else head
    upto = head if selection.upto is None else min(head, selection.upto)
    chosen = msgspec.structs.replace(selection, upto=upto)
    with part_of(out) as folder, closing(TableWriter(folder, reveal=reveal)) as writer:
        await fill(writer, log, keys, chosen, people=people, revealed=reveal, progress=progress)
        make = writer.make_file if form == "duckdb" else writer.make_folder
        make(folder / "made")
    return upto


@contextmanager
def event_file(out: Path) -> Iterator[BinaryIO]:
    """Yield a file for lines of JSON of events, which become the Parquet file *out*.

    It is there when this ends well.

    Raises:
        OtherExport: There is a file already.
        ExportFailed: It cannot be written.
    """
    with part_of(out) as folder:
        file, made = folder / "rows.ndjson", folder / "made"
        with file.open("wb") as lines:
            yield lines
        rows = (
            'SELECT position, stream, version, type, "at" AS happened_at, '
            f"data ->> '$.lookup' AS lookup, data FROM {_lines_of(file, _EVENTS)}"
        )
        with connect(folder) as database:
            _run(database, f"COPY ({rows}) TO {quoted(made)} {_PARQUET}")


def copy_lines(lines: Path, columns: str, out: Path) -> None:
    """Write the Parquet file *out* from *lines* of JSON with *columns*.

    Raises:
        ExportFailed: It cannot be written.
    """
    with connect(lines.parent) as database:
        _run(database, f"COPY (FROM {_lines_of(lines, columns)}) TO {quoted(out)} {_PARQUET}")


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB in memory that spills into *folder*."""
    database = duckdb.connect(":memory:")
    for name, value in {
        "memory_limit": f"{MEMORY}B",
        "temp_directory": folder / "tmp",
        "TimeZone": "UTC",
        "autoinstall_known_extensions": "false",  # nothing is fetched from anywhere
        "enable_progress_bar": "false",
    }.items():
        database.execute(f"SET {name} = {quoted(value)}")
    return database


def _run(database: duckdb.DuckDBPyConnection, statement: str) -> list[tuple[Any, ...]]:
    try:
        return database.execute(statement).fetchall()
    except duckdb.Error as error:
        why = " ".join(str(error).split())
        raise ExportFailed(f"the tables could not be made: {why}") from error


def quoted(text: object) -> str:
    """Return *text* as a string of SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def _lines_of(file: Path, definition: str) -> str:
    """Return SQL of the rows in *file*, lines of JSON with the columns of *definition*."""
    pairs = (column.split(maxsplit=1) for column in definition.split(", "))
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in pairs)
    return (
        f"read_json({quoted(file)}, format = 'newline_delimited', columns = {{{columns}}}, "
        f"maximum_object_size = {64 << 20})"
    )


def _comment(place: str, about: str) -> str:
    return f"COMMENT ON {place} IS {quoted(about)}"
