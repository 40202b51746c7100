"""``cs brands import``: large open company files, into the index that `imported` reads."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
from cyclopts import Parameter

from cs.assembly.settings_of_plugins import of_source
from cs.cli.options import Config, DataDir, DryRun, Json
from cs.cli.output import console, print_json, stop, warn
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.runtime.table_text import is_hopeless
from cs.sources.brand.company_index import CompanyChanges, CompanyIndex, IndexFault, batches
from cs.sources.brand.company_rows import COMPANIES, Company, company_of
from cs.sources.tables.table_file import BadFile, TableFile

#: Companies of one transaction: what is lost when an import is stopped, and imported again.
BATCH = 5_000
#: Bad rows that are told one by one; of the others only their number.
TOLD = 20


class ImportSummary(msgspec.Struct):
    """What an import came to."""

    file: str
    columns: dict[str, str]
    rows: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    bad: int = 0
    bad_rows: list[tuple[int, str]] = []
    dry_run: bool = False


def import_brands(
    file: Annotated[Path, Parameter(help="CSV, TSV or JSON lines (also .gz), or Parquet.")],
    /,
    *,
    dry_run: DryRun = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Import companies of a large open file, or a newer edition of one, as brands.

    The columns are guessed by their names and told. A company that is there already, by its
    id, else its web site, is replaced. A bad row is told with its line, the others are
    imported all the same, and the exit code is 1 at the end. Whatever was imported when it
    is stopped stays; running it again goes on.

    Example: `cs brands import companies.csv.gz --dry-run`
    """
    plugin = of_source(settings(config, data_dir=data_dir), "imported")
    index = Path(str(plugin["file"]))
    try:
        companies = TableFile(file, COMPANIES)
        done = ImportSummary(file=str(file), columns=companies.columns, dry_run=dry_run)
        _import(companies, index, done)
    except BadFile as error:
        stop(str(error))
    except (OSError, IndexFault) as error:
        stop(f"{index}: {error}; what was imported before stays, run it again to go on")
    _tell(done, json=json)
    if done.bad:
        raise SystemExit(1)


def _import(companies: TableFile, index: Path, done: ImportSummary) -> None:
    with TemporaryDirectory() as folder:
        # A dry run on a first import compares with nothing, and leaves nothing.
        scratch = done.dry_run and not index.exists()
        path = Path(folder) / "none.sqlite" if scratch else index
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = scratch or not done.dry_run
        with CompanyIndex(path, writing=writing) as opened, Progress() as progress:
            for batch in batches(_good(companies, done), BATCH):
                _count(done, opened.put(batch, dry_run=done.dry_run))
                progress.show(f"{done.rows} rows")


def _good(companies: TableFile, done: ImportSummary) -> Iterator[Company]:
    for line, row in companies.read(company_of):
        done.rows += 1
        if isinstance(row, str):
            done.bad += 1
            if len(done.bad_rows) < TOLD:
                done.bad_rows.append((line, row))
            if is_hopeless(done.rows, done.bad):
                raise BadFile(f"nearly all of its {done.rows} rows are bad: {row}")
        else:
            yield row


def _count(done: ImportSummary, changes: CompanyChanges) -> None:
    done.added += changes.added
    done.changed += changes.changed
    done.unchanged += changes.unchanged


def _tell(done: ImportSummary, *, json: bool) -> None:
    if json:
        print_json(done)
        return
    for line, why in done.bad_rows:
        warn(f"line {line}: {why}")
    if done.bad > len(done.bad_rows):
        warn(f"and {done.bad - len(done.bad_rows)} more bad rows")
    read = ", ".join(f"{field} from {column!r}" for field, column in done.columns.items())
    console.print(f"columns: {read}")
    would = "would be " if done.dry_run else ""
    console.print(
        f"{done.rows} rows: {would}{done.added} added, {done.changed} changed, "
        f"{done.unchanged} unchanged, {done.bad} bad"
    )
