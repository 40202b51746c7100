"""Exports: the history as files that an analyst's own tools read.

Rows of runs, searches, keys and events (`cs.history.rows`) are written down as lines of JSON,
some thousand at a time, and appended by DuckDB to a file of its own in a folder beside the one
that is made.  At the end the typed tables (`cs.history.tables`) are selected from it, with the
figures of reports as views, into a DuckDB file or Parquet files.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import duckdb
import msgspec

from cs.eventlog.port import EventLog
from cs.eventlog.sealing import key_name
from cs.history.history import History, HistoryEvent, Progress, unseen
from cs.history.identities import Identities
from cs.history.lines import ShownEvent
from cs.history.loading import Unreadable, load, refuse
from cs.history.part_folder import ExportFailed, part_of
from cs.history.report.sql import FIGURES, MACROS
from cs.history.rows import Row, event_rows, run_rows, search_row
from cs.history.selection import Selection
from cs.history.tables import TABLES
from cs.keystore.port import KeyStore

Form = Literal["duckdb", "tables"]

#: Bytes that DuckDB holds in memory at most; it sorts and joins on disk beyond.
MEMORY = 10**9
#: Rows that are written down before DuckDB appends them, some 500 bytes each.
ROWS = 50_000
#: People who are told apart at once.
PEOPLE = 50_000
#: Events by which people are erased, wherever they stand.
ERASURES = Selection(types=("contacts-erased", "person.erased"))

#: Gathered besides the tables: erased people, and pseudonyms of those without a profile.
_GATHERED = {
    **{name: table.definition for name, table in TABLES.items()},
    "gone": "person VARCHAR",
    "who": "person VARCHAR, who VARCHAR",
}
_EVENTS = (
    "position BIGINT, stream VARCHAR, version INTEGER, type VARCHAR, happened_at TIMESTAMP, "
    "lookup VARCHAR, data VARCHAR"
)


class TableWriter:
    """Appends rows to tables in the DuckDB file *folder*/``gathered.duckdb``.

    Args:
        folder: For that file, and for what there is no room for in memory.
        reveal: Write personal columns, too.
    """

    def __init__(self, folder: Path, *, reveal: bool = False) -> None:
        self._folder = folder
        self._columns = {
            name: [column.name for column in table.columns if reveal or not column.personal]
            for name, table in TABLES.items()
        } | {"gone": ["person"], "who": ["person", "who"]}
        self._waiting: dict[str, list[Mapping[str, Any]]] = {name: [] for name in _GATHERED}
        self._count = 0
        self._encoder = msgspec.json.Encoder()
        self._database = connect(folder)
        self.run(f"ATTACH {quoted(folder / 'gathered.duckdb')} AS gathered")
        for name, definition in _GATHERED.items():
            self.run(f"CREATE TABLE gathered.{name} ({definition})")

    def add(self, rows: Iterable[Row]) -> None:
        """Append *rows*, without what is no column of their table or must not be written."""
        for name, row in rows:
            columns = self._columns[name]
            self._waiting[name].append({c: row[c] for c in columns if row.get(c) is not None})
            self._count += 1
        if self._count >= ROWS:
            self.flush()

    def flush(self) -> None:
        """Append the rows that wait."""
        for name, rows in self._waiting.items():
            if rows:
                self._append(f"gathered.{name}", _GATHERED[name], rows)
                rows.clear()
        self._count = 0

    def _append(self, table: str, definition: str, rows: Sequence[Mapping[str, Any]]) -> None:
        file = self._folder / "rows.ndjson"
        file.write_bytes(self._encoder.encode_lines(rows))
        self.run(f"INSERT INTO {table} BY NAME SELECT * FROM {_lines_of(file, definition)}")
        file.unlink()

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run *statement* and return its rows.

        Raises:
            ExportFailed: It cannot be written.
        """
        try:
            return self._database.execute(statement).fetchall()
        except duckdb.Error as error:
            why = " ".join(str(error).split())
            raise ExportFailed(f"the tables could not be made: {why}") from error

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
            file = quoted(out / f"{name}.parquet")
            self.run(f"COPY ({table.selected}) TO {file} (FORMAT parquet, COMPRESSION zstd)")
        (out / "views.sql").write_text(views_sql())


async def fill(
    writer: TableWriter,
    log: EventLog,
    keys: KeyStore,
    selection: Selection,
    *,
    people: Identities | None = None,
    prices: Mapping[str, float] | None = None,
    revealed: bool = False,
    unreadable: Unreadable = refuse,
    progress: Progress = unseen,
) -> None:
    """Append all rows of *selection*, which has a last position, with *writer*.

    Args:
        writer: What they are appended with.
        log: Where the events are.
        keys: Open what is not personal of people, such as verdicts.
        selection: Which events; the runs, searches and keys that they touch are whole.
        people: Tells people apart; ``None``: `who` stays empty.
        prices: Of one question, in US dollars, by the name of a source or verifier.
        revealed: As the writer does.
        unreadable: Called with events that cannot be read.
        progress: Called with the positions read so far, and the last there is to read.

    Raises:
        ExportFailed: It cannot be written.
        LogUnavailable: The log cannot be read now.
        DamagedEvent, NewerEvent: As *unreadable* raises them.
    """
    lost = set[str]()
    async for part in load(log, keys, selection, unreadable=unreadable, progress=progress):
        lost |= part.lost
        for event in part.events:
            writer.add(event_rows(event))
        for run in part.runs:
            writer.add(_with_pseudonyms(run_rows(run, lost), people))
        writer.add(map(search_row, part.searches))
        writer.add(("keys", msgspec.structs.asdict(key)) for key in part.keys)
    if people is not None:
        await _tell_apart(writer, people)
    async for _, page in History(log).pages(ERASURES, unreadable=unreadable):
        writer.add(("gone", {"person": name}) for event in page for name in _erased(event))
    chosen = msgspec.json.encode(selection).decode()
    held = {"since": selection.since, "until": selection.until, "selection": chosen}
    writer.add([("export", {**held, "position": selection.upto, "revealed": revealed})])
    named = (prices or {}).items()
    writer.add(("prices", {"name": name, "usd": usd}) for name, usd in named)
    writer.flush()
    writer.run(
        "CREATE OR REPLACE TABLE gathered.gone AS SELECT DISTINCT person FROM gathered.gone"
    )


def _erased(event: HistoryEvent) -> Iterator[str]:
    """Yield the people whom *event*, of `ERASURES`, erases."""
    said = event.data()
    yield from said.get("found_in", ())
    yield from (key_name(said["lookup"], person) for person in said.get("people", ()))


def _with_pseudonyms(rows: Iterable[Row], people: Identities | None) -> Iterator[Row]:
    """Yield *rows*; those of people with a profile have their pseudonym."""
    for name, row in rows:
        url = row.get("linkedin_url") if name == "people" else None
        if people is not None and url is not None:
            yield name, {**row, "who": people.of_profile(url)}
        else:
            yield name, row


async def _tell_apart(writer: TableWriter, people: Identities) -> None:
    """Add the pseudonyms of people without a profile: that takes all that is known of them."""
    writer.flush()
    nameless = "SELECT person FROM gathered.people WHERE who IS NULL AND sources IS NOT NULL"
    names = [name for (name,) in writer.run(nameless)]
    for start in range(0, len(names), PEOPLE):
        told = await people.of(names[start : start + PEOPLE])
        writer.add(("who", {"person": name, "who": who}) for name, who in told.items())


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

    It appears when it is whole; what a killed process left is made again.

    Args:
        log: Where the events are.
        keys: Open what is not personal of people, and people if *reveal* is set.
        selection: Which events; the runs, searches and keys that they touch are whole.
        out: Where the file or the folder is to appear.
        form: ``duckdb``: one file; ``tables``: a folder of Parquet files.
        people: Tells people apart.
        reveal: Write who people are, too; that it is done is stored before
            (`cs.operations.disclosing`).
        head: The last position to read, as that event has it; ``None``: the log's last one.
        progress: Called with the positions read so far, and the last there is to read.

    Raises:
        OtherExport: Something else is there, or another process writes it.
        ExportFailed: It cannot be written.
        LogUnavailable, DamagedEvent, NewerEvent: The log cannot be read.
    """
    head = await log.head() if head is None else head
    upto = head if selection.upto is None else min(head, selection.upto)
    chosen = msgspec.structs.replace(selection, upto=upto)
    with part_of(out) as folder:
        writer = TableWriter(folder, reveal=reveal)
        try:
            await fill(
                writer,
                log,
                keys,
                chosen,
                people=people,
                revealed=reveal,
                progress=progress,
            )
            made = folder / "made"
            if form == "duckdb":
                writer.make_file(made)
            else:
                writer.make_folder(made)
        finally:
            writer.close()
        made.rename(out)
    return upto


@contextmanager
def event_file(out: Path) -> Iterator[Callable[[Sequence[ShownEvent]], object]]:
    """Yield what adds events to the Parquet file *out*, which is there when this ends well.

    Its columns are those of a line of JSON; ``data`` is JSON.

    Raises:
        OtherExport: Something else is there, or another process writes it.
        ExportFailed: It cannot be written.
    """
    with part_of(out) as folder:
        file, made = folder / "rows.ndjson", folder / "made"
        with file.open("wb") as lines:
            encoder = msgspec.json.Encoder()

            def add(events: Sequence[ShownEvent]) -> None:
                lines.write(encoder.encode_lines([_event_row(each) for each in events]))

            yield add
        with connect(folder) as database:
            rows = f"SELECT * FROM {_lines_of(file, _EVENTS)}"
            try:
                database.execute(
                    f"COPY ({rows}) TO {quoted(made)} (FORMAT parquet, COMPRESSION zstd)"
                )
            except duckdb.Error as error:
                why = " ".join(str(error).split())
                raise ExportFailed(f"{out} cannot be written: {why}") from error
        made.rename(out)


def _event_row(shown: ShownEvent) -> Mapping[str, Any]:
    event = shown.event
    return {
        "position": event.position,
        "stream": event.stream,
        "version": event.version,
        "type": event.topic,
        "happened_at": event.at,
        "lookup": event.lookup,
        "data": shown.data.decode(),
    }


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB in memory that puts into *folder* what there is no room for."""
    database = duckdb.connect(":memory:")
    database.execute(f"SET memory_limit = '{MEMORY}B'")
    database.execute(f"SET temp_directory = {quoted(folder / 'tmp')}")
    database.execute("SET TimeZone = 'UTC'")
    # Nothing is fetched from anywhere.
    database.execute("SET autoinstall_known_extensions = false")
    database.execute("SET enable_progress_bar = false")
    return database


def views_sql() -> str:
    """Return SQL that makes of a folder's Parquet files what a DuckDB file has.

    It is run in that folder: paths are relative.
    """
    tables = (
        f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{name}.parquet');\n"
        for name in TABLES
    )
    macros = (f"{macro};\n" for macro in MACROS)
    views = (f"CREATE VIEW {figure.name} AS {figure.sql};\n" for figure in FIGURES)
    return "".join([*tables, *macros, *views])


def quoted(path: Path) -> str:
    """Return *path* as a string of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def _lines_of(file: Path, definition: str) -> str:
    """Return SQL of the rows in *file*, lines of JSON with the columns of *definition*."""
    pairs = (column.split(maxsplit=1) for column in definition.split(", "))
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in pairs)
    size = 64 << 20
    return (
        f"read_json({quoted(file)}, format = 'newline_delimited', columns = {{{columns}}}, "
        f"maximum_object_size = {size})"
    )


def _comment(place: str, about: str) -> str:
    text = about.replace("'", "''")
    return f"COMMENT ON {place} IS '{text}'"
