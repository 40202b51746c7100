"""Typed tables: facts gathered beside the file, then tables and views made of them.

A DuckDB file, or a folder of Parquet files with ``views.sql``.  It appears under its name
when it is whole; until then the folder ``NAME.part`` beside it holds the facts
(`cs.history.export.staging`), and the tables while they are made.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from cs.history.export.errors import OtherExport, disk_failures
from cs.history.export.fact_rows import FactRows
from cs.history.export.facts import add_page
from cs.history.export.making import Making, quoted
from cs.history.export.reading import open_page
from cs.history.export.staging import Plan, Staging, opened
from cs.history.export.tables import TABLES
from cs.history.export.views import VIEWS
from cs.history.history import History, Progress
from cs.history.identities import Identities
from cs.history.selection import Selection
from cs.keystore.port import KeyStore

Form = Literal["duckdb", "tables"]

#: Facts held in memory before they are stored, some 500 bytes each.
FACTS_HELD = 100_000
#: Events by which people are erased, wherever they stand.
ERASURES = Selection(types=("contacts-erased", "person.erased"))


class TablesExport:
    """Typed tables of *selection*, made at *path*.

    Args:
        history, keys: What is read, and what opens people.
        selection: Which events; without a last position, those there are when this begins.
        path: Where the file or folder is to appear.
        form: ``duckdb``: one file; ``tables``: a folder of Parquet files.
        people: Tells people apart.
        resume: Go on with what was begun.
        reveal: Write who people are, too; that it is done is noted before
            (`cs.operations.disclosing`).
        head: The last position to read if it begins anew, as that note has it; ``None``: the
            log's last one by then.
    """

    def __init__(
        self,
        history: History,
        keys: KeyStore,
        selection: Selection,
        path: Path,
        form: Form,
        *,
        people: Identities,
        resume: bool = False,
        reveal: bool = False,
        head: int | None = None,
    ) -> None:
        self._head = head
        self._history = history
        self._keys = keys
        self._people = people
        self._selection = selection
        self._path = path
        self._form: Form = form
        self._resume = resume
        self._reveal = reveal
        self._part = path.with_name(f"{path.name}.part")
        self._out = self._part / "made"

    async def make(self, progress: Progress, building: Callable[[str], object]) -> int:
        """Make it; return the position up to which it is.

        Args:
            progress: Told the positions read so far, and the last there is to read.
            building: Told what is made of them, one after the other.

        Raises:
            OtherExport: Something else is there, or what was begun was begun otherwise.
            ExportFailed: It cannot be written.
            LogUnavailable, DamagedEvent, NewerEvent: The log cannot be read.
        """
        self.check_free()
        mask = os.umask(0o077)  # people may be in it
        try:
            with disk_failures(self._path), opened(self._part, await self._plan()) as staging:
                self._check_begun(staging.plan)
                await self._gather(staging, progress)
                await self._gather_pseudonyms(staging)
                await self._gather_erasures(staging)
                with staging.making() as making:
                    _remove(self._out)
                    if self._form == "duckdb":
                        _make_file(making, self._out, building)
                    else:
                        _make_folder(making, self._out, building)
                self._out.rename(self._path)
                shutil.rmtree(self._part)
        finally:
            os.umask(mask)
        return staging.plan.upto

    def check_free(self) -> None:
        """Return if the names are free, or what is begun there is to be gone on with.

        Raises:
            OtherExport: Something else is there.
        """
        if os.path.lexists(self._path):
            raise OtherExport(f"{self._path} is there already: name another one")
        if self._part.exists() and not self._resume:
            raise OtherExport(
                f"{self._part} is of an export that was cut off: go on with --resume, "
                "or remove it"
            )

    async def _plan(self) -> Plan:
        head = await self._history.head() if self._head is None else self._head
        upto = head if self._selection.upto is None else min(head, self._selection.upto)
        chosen = msgspec.json.encode(self._selection).decode()
        return Plan(form=self._form, selection=chosen, revealed=self._reveal, upto=upto)

    def _check_begun(self, begun: Plan) -> None:
        chosen = msgspec.json.encode(self._selection).decode()
        wanted = Plan(form=self._form, selection=chosen, revealed=self._reveal, upto=begun.upto)
        if begun != wanted:
            raise OtherExport(
                f"{self._part} was begun with other options: give the same ones, or remove it"
            )

    async def _gather(self, staging: Staging, progress: Progress) -> None:
        rest = msgspec.structs.replace(
            self._selection,
            after=max(self._selection.after, staging.position),
            upto=staging.plan.upto,
        )
        facts = FactRows(self._people.of_profile, reveal=self._reveal)
        async for position, page in self._history.pages(rest, progress):
            opened_page = await open_page(self._keys, page, reveal=self._reveal)
            add_page(facts, opened_page)
            self._keys.lost.note(opened_page.lost)
            if facts.count >= FACTS_HELD:
                staging.add(facts.rows, position)
                facts.clear()
        if staging.position < staging.plan.upto:
            staging.add(facts.rows, staging.plan.upto)

    async def _gather_pseudonyms(self, staging: Staging) -> None:
        """Tell those without a profile apart: that takes all that is known of them."""
        with staging.pseudonyms() as store:
            for people in staging.people_without_profile():
                store(await self._people.of(people))

    async def _gather_erasures(self, staging: Staging) -> None:
        """Take in who was erased until now, also behind the last position that is read."""
        erased: set[str] = set()
        async for _, page in self._history.pages(ERASURES):
            facts = FactRows(self._people.of_profile)
            add_page(facts, await open_page(self._keys, page))
            erased.update(person for (person,) in facts.rows["erased"])
        staging.add_erased(sorted(erased))


def _make_file(making: Making, out: Path, building: Callable[[str], object]) -> None:
    with making.attached(out) as run:
        for table in TABLES:
            building(table.name)
            run(table.definition("made."))
            with making.rows(table) as rows:
                run(f"INSERT INTO made.{table.name} {rows}")
            run(_comment(f"TABLE made.{table.name}", table.about))
            for column in table.columns:
                run(_comment(f"COLUMN made.{table.name}.{column.name}", column.about))
        run("USE made")
        for view in VIEWS:
            run(f"CREATE VIEW {view.name} AS {view.made}")
            run(_comment(f"VIEW {view.name}", view.about))


def _make_folder(making: Making, out: Path, building: Callable[[str], object]) -> None:
    out.mkdir()
    for table in TABLES:
        building(table.name)
        file = quoted(out / f"{table.name}.parquet")
        with making.rows(table) as rows:
            making.run(f"COPY ({rows}) TO {file} (FORMAT parquet, COMPRESSION zstd)")
    (out / "views.sql").write_text(views_sql())


def views_sql() -> str:
    """Return SQL that makes of a folder's Parquet files what a DuckDB file has.

    It is run in that folder: paths are relative.
    """
    tables = (
        f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet('{table.name}.parquet');\n"
        for table in TABLES
    )
    views = (f"CREATE VIEW {view.name} AS {view.made.strip()};\n" for view in VIEWS)
    return "".join([*tables, *views])


def _comment(place: str, about: str) -> str:
    text = about.replace("'", "''")
    return f"COMMENT ON {place} IS '{text}'"


def _remove(made: Path) -> None:
    """Remove *made*, a folder or a file with what DuckDB keeps beside it, if it is there."""
    if made.is_dir():
        shutil.rmtree(made)
    for name in (made.name, f"{made.name}.wal"):
        made.with_name(name).unlink(missing_ok=True)
