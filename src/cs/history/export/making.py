"""Making tables of stored facts in bounded memory, by DuckDB."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from cs.history.export.errors import ExportFailed, disk_failures
from cs.history.export.fact_columns import columns_of
from cs.history.export.table import TypedTable

#: Bytes that DuckDB holds in memory at most.  It sorts on disk beyond, but what it joins has to
#: fit: the facts of so many events, of which `people` takes some 250 MB.
MEMORY = 10**9
JOINED = 1_000_000


@contextmanager
def making(facts: Mapping[str, str], folder: Path) -> Iterator["Making"]:
    """Yield what makes tables of *facts*: by name, SQL that selects all of a fact's rows.

    What there is no room for in memory is in *folder*, until left.

    Raises:
        ExportFailed: It cannot be written.
    """
    with duckdb.connect(":memory:") as database:
        tables = Making(database, facts, folder)
        tables.run(f"SET memory_limit = '{MEMORY}B'")
        tables.run(f"SET temp_directory = {quoted(folder)}")
        # Nothing is fetched from anywhere.
        tables.run("SET autoinstall_known_extensions = false")
        tables.run("SET enable_progress_bar = false")
        tables.see_all(facts)
        yield tables


class Making:
    """Made by `making`: facts are views of their names.

    Args:
        database: Where they are.
        facts: By name, SQL that selects all of a fact's rows.
        folder: Where rows are kept that are joined and not in order yet.
    """

    def __init__(
        self, database: duckdb.DuckDBPyConnection, facts: Mapping[str, str], folder: Path
    ) -> None:
        self._database = database
        self._facts = facts
        self._joined = folder / "joined"

    @contextmanager
    def rows(self, table: TypedTable) -> Iterator[str]:
        """Yield SQL that selects the rows of *table* in their order, until left.

        Of a long history they are joined by portions of the lookups before.

        Raises:
            ExportFailed: It cannot be written.
        """
        portions = self._portions() if table.by_lookup else 1
        if portions == 1:
            yield table.ordered(table.selected)
            return
        shutil.rmtree(self._joined, ignore_errors=True)
        with disk_failures(self._joined):
            self._joined.mkdir(parents=True)
        for portion in range(portions):
            for fact in table.by_lookup:
                chosen = f"hash({_lookup_of(fact)}) % {portions} = {portion}"
                self._see(fact, f"SELECT * FROM ({self._facts[fact]}) WHERE {chosen}")
            file = quoted(self._joined / f"{portion:06}.parquet")
            self.run(f"COPY ({table.selected}) TO {file} (FORMAT parquet, COMPRESSION lz4)")
        self.see_all(table.by_lookup)
        files = quoted(self._joined / "*.parquet")
        yield table.ordered(f"SELECT * FROM read_parquet({files})")
        shutil.rmtree(self._joined)

    def _portions(self) -> int:
        counted = self._database.execute("SELECT count(*) FROM event").fetchone()
        assert counted is not None
        events: int = counted[0]
        return max(1, -(-events // JOINED))

    def see_all(self, facts: Iterable[str]) -> None:
        """Let the views of *facts* have all of their rows."""
        for fact in facts:
            self._see(fact, self._facts[fact])

    def _see(self, fact: str, selected: str) -> None:
        self.run(f"CREATE OR REPLACE VIEW {fact} AS {selected}")

    def run(self, statement: str, values: Sequence[object] = ()) -> None:
        """Run *statement*.

        Raises:
            ExportFailed: It cannot be written.
        """
        try:
            self._database.execute(statement, list(values))
        except duckdb.Error as error:
            why = " ".join(str(error).split())
            raise ExportFailed(f"the tables could not be made: {why}") from error

    @contextmanager
    def attached(self, path: Path) -> Iterator[Callable[[str], None]]:
        """Attach a new file *path* as ``made``, and yield what runs statements."""
        self.run(f"ATTACH {quoted(path)} AS made")
        yield self.run
        self.run("USE memory")
        self.run("DETACH made")  # which writes down all that is still in memory


def _lookup_of(fact: str) -> str:
    """Return SQL of the lookup that a row of *fact* is of."""
    names = [name for name, _ in columns_of(fact)]
    return "lookup" if "lookup" in names else "split_part(person, '#', 1)"


def quoted(path: Path) -> str:
    """Return *path* as a string of SQL."""
    return "'" + str(path).replace("'", "''") + "'"
