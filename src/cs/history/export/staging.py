"""The folder beside an export in which its facts are gathered, and which says how far it is.

``plan.json`` says what is exported.  ``facts-<position>/`` holds the facts of all events from
where the one before it ends up to that position, a Parquet file for each kind; it is renamed
to that name when it is whole.  So a process that is killed leaves whole parts, and the next
one goes on behind the last.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from cs.history.export.errors import OtherExport, disk_failures
from cs.history.export.fact_columns import FACTS, columns_of
from cs.history.export.fact_rows import Rows
from cs.history.export.making import Making, making, quoted

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
FACTS_VERSION = 3

_PLAN, _WRITING, _MAKING = "plan.json", "writing", "tmp"
_ERASED, _WHO = "erased.parquet", "who.parquet"
_PART = "facts-"


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

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder = folder
        self.plan = plan
        self.position = max(map(_position_of, self._parts()), default=0)

    def add(self, rows: Rows, position: int) -> None:
        """Store the facts up to *position*, all or none of them.

        Raises:
            ExportFailed: The disk refuses it.
        """
        writing = self._folder / _WRITING
        with disk_failures(self._folder):
            shutil.rmtree(writing, ignore_errors=True)
            writing.mkdir()
            for fact, of_fact in rows.items():
                if of_fact:
                    _write(writing / f"{fact}.parquet", fact, of_fact)
            writing.rename(self._folder / f"{_PART}{position:020}")
        self.position = position

    def add_erased(self, people: Sequence[str]) -> None:
        """Store who was erased, also behind the last position; called once before making."""
        with disk_failures(self._folder):
            _write(self._folder / _ERASED, "erased", [(person,) for person in people])

    def people_without_profile(self) -> Iterator[list[str]]:
        """Yield those who are found and have no pseudonym yet, some at a time."""
        for part in self._parts():
            file = part / "found.parquet"
            if file.exists():
                rows = pq.read_table(file, columns=["person", "who", "sources"]).to_pylist()
                left = [
                    r["person"] for r in rows if r["who"] is None and r["sources"] is not None
                ]
                if left:
                    yield left

    @contextmanager
    def pseudonyms(self) -> Iterator[Callable[[Mapping[str, str]], None]]:
        """Yield what stores pseudonyms of people, in the place of those stored before."""
        file, schema = self._folder / _WHO, _SCHEMAS["who"]
        with disk_failures(self._folder), pq.ParquetWriter(file, schema) as writer:

            def store(who: Mapping[str, str]) -> None:
                columns = [list(who.keys()), list(who.values())]
                writer.write_table(pa.table(columns, schema=schema))

            yield store

    def _parts(self) -> list[Path]:
        return sorted(self._folder.glob(f"{_PART}*"))

    @contextmanager
    def making(self) -> Iterator[Making]:
        """Yield what makes tables of the facts.

        Raises:
            ExportFailed: It cannot be written.
        """
        facts = {fact: self._stored(fact) for fact in FACTS}
        with making(facts, self._folder / _MAKING) as tables:
            tables.run("CREATE TABLE plan (selection VARCHAR, revealed BOOLEAN, upto BIGINT)")
            plan = [self.plan.selection, self.plan.revealed, self.plan.upto]
            tables.run("INSERT INTO plan VALUES (?, ?, ?)", plan)
            yield tables

    def _stored(self, fact: str) -> str:
        """Return SQL that selects all rows of *fact*."""
        files = [part / f"{fact}.parquet" for part in self._parts()]
        files += {"erased": [self._folder / _ERASED], "who": [self._folder / _WHO]}.get(
            fact, []
        )
        there = [quoted(file) for file in files if file.exists()]
        if there:
            return f"SELECT * FROM read_parquet([{', '.join(there)}])"
        nothing = (f"NULL::{kind} AS {name}" for name, kind in columns_of(fact))
        return f"SELECT {', '.join(nothing)} LIMIT 0"


def _write(file: Path, fact: str, rows: list[tuple[Any, ...]]) -> None:
    schema = _SCHEMAS[fact]
    values = zip(*rows, strict=True) if rows else ((),) * len(schema)
    columns = [pa.array(each, field.type) for each, field in zip(values, schema, strict=True)]
    table = pa.Table.from_arrays(columns, schema=schema)
    pq.write_table(table, file, compression="lz4")


@contextmanager
def opened(folder: Path, plan: Plan) -> Iterator[Staging]:
    """Open *folder*, which is made for *plan* if it is not there or was never begun.

    Raises:
        OtherExport: It is none of ours, or another process writes it.
        ExportFailed: It cannot be written.
    """
    with disk_failures(folder):
        if folder.exists() and not folder.is_dir():
            raise OtherExport(f"{folder} is no export that was begun; remove it")
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OtherExport(f"{folder} is being written by another process") from None
        yield Staging(folder, _plan(folder, plan))
    finally:
        os.close(descriptor)


def _plan(folder: Path, plan: Plan) -> Plan:
    """Return the plan that *folder* was begun with, *plan* if it was not."""
    file = folder / _PLAN
    with disk_failures(folder):
        if not file.exists():
            if any(folder.iterdir()):
                raise OtherExport(f"{folder} is no export that was begun; remove it")
            new = folder / f"{_PLAN}.new"
            new.write_bytes(msgspec.json.encode(plan))
            new.rename(file)
        try:
            begun = msgspec.json.decode(file.read_bytes(), type=Plan)
        except msgspec.MsgspecError as error:
            raise OtherExport(f"{folder} is no export that was begun; remove it") from error
    if begun.facts != FACTS_VERSION:
        raise OtherExport(f"{folder} was begun by another version of cs; remove it")
    return begun


def _position_of(part: Path) -> int:
    return int(part.name.removeprefix(_PART))
