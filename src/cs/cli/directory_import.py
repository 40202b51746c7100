"""``cs directory import``: a file of people into the operator's own directory."""

import asyncio
import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated

import msgspec
from cyclopts import Parameter
from msgspec.structs import replace

from cs.assembly.operator_command import open_command_context
from cs.cli.directory_data import whole
from cs.cli.new_file import check_new
from cs.cli.options import Config, DataDir, DryRun, Json
from cs.cli.output import console, print_json, stop, warn
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.directory.errors import DirectoryUnavailable
from cs.operations.directory_prints import DirectoryPrints
from cs.operations.retention import MONTH
from cs.runtime.private_files import open_private
from cs.settings import Settings
from cs.sources.people_directory.importing import ImportCounts, Importing
from cs.sources.people_directory.people_rows import PEOPLE
from cs.sources.tables.table_file import BadFile, TableFile

#: Rows and columns that are told one by one; of the others only their number.
TOLD = 20


class ImportedPeople(ImportCounts):
    """What an import came to, and what was read for what."""

    file: str = ""
    form: str = ""
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)
    unused: Sequence[str] = ()
    # Of the first rows that were not taken.
    problems: list[tuple[int, str]] = msgspec.field(default_factory=list)
    dry_run: bool = False


def import_people(
    file: Annotated[Path, Parameter(help="CSV, JSON lines (also .gz) or Parquet.")],
    /,
    *,
    column: Annotated[
        tuple[str, ...],
        Parameter(help="FIELD=COLUMN where the guess is wrong; FIELD= for none.", negative=""),
    ] = (),
    as_of: Annotated[
        str | None, Parameter(help="The day of which the file is: 2026-11-01; else today.")
    ] = None,
    encoding: Annotated[
        str | None, Parameter(help="Of the text, such as cp1252; UTF-8 and UTF-16 are seen.")
    ] = None,
    errors: Annotated[
        Path | None, Parameter(help="Every row that is not taken, into this new file (CSV).")
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Import people into your own directory, which searches ask first and for free.

    The columns are guessed by what common exports call them (LinkedIn, Sales Navigator tools,
    Apollo, HubSpot, a plain list), and told before anything is written. A person needs a name,
    a LinkedIn profile or an e-mail, and a company, its web site or a mailbox there. Who is
    there already, by the profile, is updated: a field whose column the file has takes the new
    value, the others stay. The same file again changes nothing.

    A row with something wrong is told with its line and what to do, the others are imported
    all the same, and the exit code is 1 at the end. Who asked to be forgotten is left out. A
    running service asks for the new people from then on. What was imported when it is stopped
    stays; running it again goes on.

    Fields: full_name, first_name, last_name, title, headline, company, domain, profile,
    email, location (or city, state, country), language, note, as_of.

    Example: `cs directory import people.csv --dry-run`, then
    `cs directory import people.csv --column title=Function --errors left-out.csv`
    """
    chosen = settings(config, data_dir=data_dir)
    if errors is not None:
        check_new(errors)
    if json is False and dry_run:
        console.print("dry run: nothing is written")
    try:
        people = TableFile(file, PEOPLE, _columns(column), encoding)
        done = ImportedPeople(
            file=str(file),
            form=people.form,
            columns=people.columns,
            unused=people.unused,
            dry_run=dry_run,
        )
        if not json:
            _tell_columns(done)
        with _problems(errors, done) as told:
            asyncio.run(_import(chosen, people, done, told, as_of))
    except BadFile as error:
        stop(str(error))
    except DirectoryUnavailable as error:
        stop(f"{error}; what was imported before stays, run it again to go on")
    _tell(done, errors, json=json)
    if done.refused:
        raise SystemExit(1)


async def _import(
    chosen: Settings,
    people: TableFile,
    done: ImportedPeople,
    told: "_Problems",
    as_of: str | None,
) -> None:
    async with AsyncExitStack() as stack:
        if done.dry_run and chosen.postgres is None and not chosen.data_dir.exists():
            # It is compared with nothing, and leaves nothing.
            scratch = Path(stack.enter_context(TemporaryDirectory()))
            chosen = replace(chosen, data_dir=scratch, master_key_file=None)
        data = await stack.enter_async_context(open_command_context(chosen, new=True))
        today = data.clock.now().date()
        oldest = today - MONTH * chosen.people_kept_for
        with Progress() as progress:
            importing = Importing(
                whole(data),
                DirectoryPrints(data.keys),
                today=_day(as_of, today, oldest),
                oldest=oldest,
                dated=as_of is not None,
                dry_run=done.dry_run,
                told=told.tell,
                shown=lambda counts: progress.show(f"{counts.rows} rows"),
            )
            importing.counts = done
            await importing.run(people)


def _columns(given: Sequence[str]) -> dict[str, str]:
    chosen = {}
    for each in given:
        field, separator, column = each.partition("=")
        if not separator:
            stop(f"--column {each}: FIELD=COLUMN, such as title=Function", 2)
        chosen[field.strip().replace("-", "_")] = column.strip()
    return chosen


def _day(text: str | None, today: date, oldest: date) -> date:
    if text is None:
        return today
    try:
        day = date.fromisoformat(text)
    except ValueError:
        stop(f"--as-of {text}: a day such as {today}", 2)
    if not oldest <= day <= today:
        stop(f"--as-of {day}: from {oldest}, since when people are kept, to today", 2)
    return day


class _Problems:
    """Tells of rows that are not taken: the first on standard error, all in a file."""

    def __init__(self, done: ImportedPeople, file: IO[str] | None) -> None:
        self._done = done
        self._rows = None if file is None else csv.writer(file)
        if self._rows is not None:
            self._rows.writerow(("line", "problem"))

    def tell(self, line: int, why: str) -> None:
        if len(self._done.problems) < TOLD:
            self._done.problems.append((line, why))
        if self._rows is not None:
            self._rows.writerow((line, why))


@contextmanager
def _problems(errors: Path | None, done: ImportedPeople) -> Iterator[_Problems]:
    if errors is None:
        yield _Problems(done, None)
        return
    try:
        opened = open_private(errors, "x")
    except OSError as error:
        stop(f"{errors} cannot be written: {error.strerror}")
    with opened as file:
        yield _Problems(done, file)


def _tell_columns(done: ImportedPeople) -> None:
    console.print(f"read as {done.form}")
    read = ", ".join(f"{field} from {column!r}" for field, column in done.columns.items())
    console.print(f"columns: {read}")
    if done.unused:
        more = f" and {len(done.unused) - TOLD} more" if len(done.unused) > TOLD else ""
        console.print(f"not read: {', '.join(done.unused[:TOLD])}{more}")


def _tell(done: ImportedPeople, errors: Path | None, *, json: bool) -> None:
    if json:
        print_json(done)
        return
    for line, why in done.problems:
        warn(f"line {line}: {why}")
    left_out = done.refused + done.suppressed + done.repeated
    if left_out > len(done.problems):
        where = f"all are in {errors}" if errors else "--errors FILE has all"
        warn(f"and {left_out - len(done.problems)} more rows; {where}")
    would = "would be " if done.dry_run else ""
    console.print(
        f"{done.rows} rows: {would}{done.new} new, {done.updated} updated, "
        f"{done.unchanged} unchanged, {done.refused} refused"
        + (f", {done.repeated} repeated" if done.repeated else "")
        + (f", {done.suppressed} left out who asked to be forgotten" if done.suppressed else "")
    )
