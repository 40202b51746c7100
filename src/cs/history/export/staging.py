"""The file beside an export in which its facts are gathered, and which says how far it is.

A DuckDB file, written in transactions: a process that is killed leaves it at a position, and
the next one goes on there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from cs.history.export.errors import ExportFailed, OtherExport
from cs.history.export.facts import FACTS, Rows, columns_of

#: What DuckDB holds in memory at most; it sorts and joins on disk beyond.
MEMORY = "1GB"
_ARROW: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "TIMESTAMP": pa.timestamp("us"),
}
_SCHEMAS: dict[str, pa.Schema] = {
    fact: pa.schema([(name, _ARROW[kind]) for name, kind in columns_of(fact)]) for fact in FACTS
}
#: Changes with what is written down as facts: another version's are not gone on with.
FACTS_VERSION = 1


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is exported: the same plan goes on where another process stopped.

    Attributes:
        form: What is made of the facts in the end.
        selection: Which events, as JSON.
        revealed: Whether people are in it.
        upto: The last position.
        facts: Of which version.
    """

    form: str
    selection: str
    revealed: bool
    upto: int
    facts: int = FACTS_VERSION


class Staging:
    """Use `opened`.

    Attributes:
        plan: What is exported.
        position: All up to here is in it.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection, plan: Plan, position: int) -> None:
        self._database = database
        self.plan = plan
        self.position = position

    def add(self, rows: Rows, position: int) -> None:
        """Store the facts up to *position*, all or none of them."""
        with _failures():
            self._database.begin()
            try:
                for name, of_fact in rows.items():
                    if of_fact:
                        self._insert(name, of_fact)
                self._database.execute("UPDATE progress SET position = ?", [position])
                self._database.commit()
            except BaseException:
                self._database.rollback()
                raise
        self.position = position

    def _insert(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        schema = _SCHEMAS[name]
        columns = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        self._database.register("new_rows", pa.Table.from_arrays(columns, schema=schema))
        self._database.execute(f"INSERT INTO {name} SELECT * FROM new_rows")
        self._database.unregister("new_rows")

    def run(self, statement: str) -> None:
        """Run *statement*, which makes something of the facts.

        Raises:
            ExportFailed: It cannot be written.
        """
        with _failures():
            self._database.execute(statement)

    @contextmanager
    def attached(self, path: Path) -> Iterator[Callable[[str], None]]:
        """Attach a new file *path* as ``made``, and yield what runs statements."""
        self.run(f"ATTACH {quoted(path)} AS made")
        yield self.run
        self.run(f"USE {_FACTS}")
        self.run("DETACH made")  # which writes down all that is still in memory


@contextmanager
def opened(path: Path, plan: Plan) -> Iterator[Staging]:
    """Open the file *path*, which is made for *plan* if it is not there or was never begun.

    Raises:
        OtherExport: It is none of ours.
        ExportFailed: It cannot be written, or another process does so.
    """
    if path.exists() and path.stat().st_size == 0:
        path.unlink()
    with _failures():
        database = duckdb.connect(":memory:")
    try:
        with _failures():
            _set_up(database, path)
            if not database.execute("SHOW TABLES").fetchall():
                _create(database, plan)
            found, position = _progress(database, path)
        yield Staging(database, found, position)
    finally:
        database.close()


def _set_up(database: duckdb.DuckDBPyConnection, path: Path) -> None:
    database.execute(f"SET memory_limit = '{MEMORY}'")
    database.execute(f"SET temp_directory = {quoted(path.with_name(path.name + '.tmp'))}")
    # Nothing is fetched from anywhere.
    database.execute("SET autoinstall_known_extensions = false")
    database.execute("SET enable_progress_bar = false")
    database.execute(f"ATTACH {quoted(path)} AS {_FACTS}")
    database.execute(f"USE {_FACTS}")


def _create(database: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    database.begin()
    for fact in FACTS:
        columns = ", ".join(f"{name} {kind}" for name, kind in columns_of(fact))
        database.execute(f"CREATE TABLE {fact} ({columns})")
    database.execute(_PROGRESS)
    row = [plan.form, plan.selection, plan.revealed, plan.upto, plan.facts, 0]
    database.execute("INSERT INTO progress VALUES (?, ?, ?, ?, ?, ?)", row)
    database.commit()


def _progress(database: duckdb.DuckDBPyConnection, path: Path) -> tuple[Plan, int]:
    try:
        row = database.execute("SELECT * FROM progress").fetchone()
    except duckdb.CatalogException:
        row = None
    if row is None or len(row) != 6:
        raise OtherExport(f"{path} is no export that was begun; remove it")
    form, selection, revealed, upto, facts, position = row
    plan = Plan(form=form, selection=selection, revealed=revealed, upto=upto, facts=facts)
    return plan, position


def quoted(path: Path) -> str:
    """Return *path* as a string of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise ExportFailed(f"the export stopped: {' '.join(str(error).split())}") from error


#: The file's name in statements.
_FACTS = "facts"
_PROGRESS = (
    "CREATE TABLE progress (form VARCHAR, selection VARCHAR, revealed BOOLEAN, upto BIGINT, "
    "facts INTEGER, position BIGINT)"
)
