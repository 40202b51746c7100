"""``cs directory import`` and ``cs brands import``: a file of people, or of companies."""

import csv
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import asdict, replace

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.assembly.settings_of_plugins import of_source
from cs.cli.command import DryRun, Invocation, NewFile, Output, on_data
from cs.cli.directory import directory_of
from cs.cli.output import Progress, facts, stop, warn
from cs.directory.store import DirectoryUnavailable
from cs.domain.causation import OperatorCause
from cs.operations.bounces.reading import read_bounces, read_sent
from cs.operations.bounces.recording import BounceCounts, BounceRecorder
from cs.operations.erasure import DirectoryPrints
from cs.operations.retention import MONTH
from cs.runtime.private_files import open_private
from cs.runtime.table_text import is_hopeless
from cs.sources.brand.brand_index import BrandIndex, IndexFault
from cs.sources.brand.imported import COMPANIES, company_of
from cs.sources.people_directory.importing import (
    PEOPLE,
    ImportCounts,
    Importing,
    Refuse,
    good_rows,
)
from cs.sources.tables.table_file import BadFile, TableFile, TableKind, batches

#: Companies of one transaction: what is lost when an import is stopped, and imported again.
BATCH = 5_000
#: Rows of bounces of one step, after which progress is shown.
ROWS = 500
#: Refused rows that are shown one by one; of the others only their number.
SHOWN = 20


@Parameter(name="*")
@dataclass(frozen=True)
class ImportOptions:
    column: Annotated[
        tuple[str, ...],
        Parameter(help="FIELD=COLUMN where the guess is wrong; FIELD= for none."),
    ] = ()
    encoding: Annotated[
        str | None, Parameter(help="Of the text, such as cp1252; UTF-8 and UTF-16 are seen.")
    ] = None
    errors: Annotated[
        NewFile, Parameter(help="Write every refused row into this new file (CSV).")
    ] = None
    dry_run: DryRun = False

    @property
    def columns(self) -> dict[str, str]:
        """By field the column that was named for it."""
        chosen = {}
        for each in self.column:
            field, separator, column = each.partition("=")
            if not separator:
                stop(f"--column {each}: FIELD=COLUMN, such as title=Function", 2)
            chosen[field.strip().replace("-", "_")] = column.strip()
        return chosen


PLAIN = ImportOptions()


class Imported(ImportCounts):
    """The result of an import: counts, columns and the first rows that were refused."""

    file: str = ""
    form: str = ""
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)
    unused: Sequence[str] = ()
    problems: list[tuple[int, str]] = msgspec.field(default_factory=list)
    dry_run: bool = False

    def header(self) -> Output:
        """Return the lines that are printed before anything is written."""
        text = ["dry run: nothing is written"] if self.dry_run else []
        text += [f"read as {self.form}", columns_line(self.columns)]
        if self.unused:
            text.append(f"not read: {', '.join(self.unused)}")
        return Output(text=text)

    def summary(self, at: Invocation, errors: Path | None) -> Output:
        """Return the counts; the first refused rows go to standard error."""
        if not at.json:
            where = f"; all are in {errors}" if errors else "; --errors FILE has all"
            left_out = self.refused + self.suppressed + self.repeated
            warn_of_rows(self.problems, left_out, "line", f"more rows{where}")
        counts = {name: getattr(self, name) for name in ImportCounts.__struct_fields__}
        return Output([self], facts(counts), code=bool(self.refused))


def columns_line(columns: Mapping[str, str]) -> str:
    read = ", ".join(f"{field} from {column!r}" for field, column in columns.items())
    return f"columns: {read}"


def warn_of_rows(rows: Sequence[tuple[int, str]], count: int, unit: str, rest: str) -> None:
    """Warn of each of *rows*, the first of *count*, by its number; *rest* names the others."""
    for number, why in rows:
        warn(f"{unit} {number}: {why}")
    if count > len(rows):
        warn(f"and {count - len(rows)} {rest}")


@on_data
async def import_people(
    at: Invocation,
    file: Annotated[Path, Parameter(help="CSV, JSON lines (also .gz) or Parquet.")],
    /,
    *,
    as_of: Annotated[
        str | None, Parameter(help="The day of which the file is: 2026-11-01; else today.")
    ] = None,
    options: ImportOptions = PLAIN,
) -> AsyncIterator[Output]:
    """Import people into your own directory, which searches ask first and for free.

    The columns are guessed by what common exports call them (LinkedIn, Sales Navigator tools,
    Apollo, HubSpot, a plain list), and shown before anything is written. A person needs a
    name, a LinkedIn profile or an e-mail, and a company, its web site or a mailbox there. A
    person who is there already, by the profile, is updated: a field whose column the file has
    takes the new value, the others stay. The same file again changes nothing.

    A row with something wrong is reported with its line and what to do, the others are
    imported all the same, and the exit code is 1 at the end. People who asked to be forgotten
    are left out. A running service asks for the new people from then on. What was imported
    when it is stopped stays; running it again goes on.

    Fields: full_name, first_name, last_name, title, headline, company, domain, profile,
    email, location (or city, state, country), language, note, as_of.

    Example: `cs directory import people.csv --dry-run`, then
    `cs directory import people.csv --column title=Function --errors left-out.csv`
    """
    with _reading(file, PEOPLE, options) as (people, done, refuse):
        yield done.header()
        data = await _data(at, dry_run=options.dry_run)
        today = data.clock.now().date()
        oldest = today - MONTH * at.settings().people_kept_for
        with Progress() as progress:
            importing = Importing(
                directory_of(data),
                DirectoryPrints(data.keys),
                today=_day(as_of, today, oldest),
                oldest=oldest,
                dated=as_of is not None,
                dry_run=options.dry_run,
                on_refused=refuse,
                on_progress=lambda counts: progress.show(f"{counts.rows} rows"),
                counts=done,
            )
            await importing.run(people)
    yield done.summary(at, options.errors)


@on_data
async def import_brands(
    at: Invocation,
    file: Annotated[Path, Parameter(help="CSV, TSV or JSON lines (also .gz), or Parquet.")],
    /,
    *,
    options: ImportOptions = PLAIN,
) -> AsyncIterator[Output]:
    """Import companies of a large open file, or a newer edition of one, as brands.

    The columns are guessed by their names and shown. A company that is there already, by its
    id, else its web site, is replaced. A bad row is reported with its line, the others are
    imported all the same, and the exit code is 1 at the end. Whatever was imported when it
    is stopped stays; running it again goes on.

    Example: `cs brands import companies.csv.gz --dry-run`
    """
    index, writing = _company_index(at, dry_run=options.dry_run)
    with _reading(file, COMPANIES, options) as (companies, done, refuse):
        yield done.header()
        good = (company for _, company in good_rows(companies, company_of, done, refuse))
        with BrandIndex(index, writing=writing) as opened, Progress() as progress:
            for batch in batches(good, BATCH):
                changes = opened.put(batch, dry_run=options.dry_run)
                done.new += changes.added
                done.updated += changes.changed
                done.unchanged += changes.unchanged
                progress.show(f"{done.rows} rows")
    yield done.summary(at, options.errors)


@contextmanager
def _reading(
    file: Path, kind: TableKind, options: ImportOptions
) -> Iterator[tuple[TableFile, Imported, Refuse]]:
    """Yield the rows of *file*, their counts, and a function that refuses a row.

    Errors end the command.
    """
    try:
        table = TableFile(file, kind, options.columns, options.encoding)
        done = Imported(
            file=str(file),
            form=table.form,
            columns=table.columns,
            unused=table.unused,
            dry_run=options.dry_run,
        )
        with open_private(options.errors, "x") if options.errors else StringIO() as every:
            writer = csv.writer(every)
            writer.writerow(("line", "problem"))

            def refuse(line: int, why: str) -> None:
                if len(done.problems) < SHOWN:
                    done.problems.append((line, why))
                if options.errors is not None:
                    writer.writerow((line, why))

            yield table, done, refuse
    except BadFile as error:
        stop(str(error))
    except (DirectoryUnavailable, IndexFault, OSError) as error:
        stop(f"{error}; what was imported before stays, run it again to go on")


def _company_index(at: Invocation, *, dry_run: bool) -> tuple[Path, bool]:
    """Return the file of imported companies, and whether it is opened for writing."""
    index = Path(str(of_source(at.settings(), "imported")["file"]))
    if dry_run and not index.exists():
        # It is compared with nothing, and leaves nothing.
        return Path(at.entered(TemporaryDirectory())) / "none.sqlite", True
    index.parent.mkdir(parents=True, exist_ok=True)
    return index, not dry_run


async def _data(at: Invocation, *, dry_run: bool) -> CommandContext:
    chosen = at.settings()
    if dry_run and chosen.postgres is None and not chosen.data_dir.exists():
        # It is compared with nothing, and leaves nothing.
        scratch = Path(at.entered(TemporaryDirectory()))
        chosen = replace(chosen, data_dir=scratch, master_key_file=None)
    return await at.opened(open_command_context(chosen, new=True))


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


mailboxes = App(name="mailboxes", help="Import bounces.")


@mailboxes.command
@on_data
async def bounced(
    at: Invocation,
    file: Annotated[Path, Parameter(help="A table (CSV), or mails (.eml, .mbox); also .gz.")],
    /,
    *,
    sent: Annotated[
        Path | None,
        Parameter(help="The messages you sent: columns message-id and recipient; for mails."),
    ] = None,
    dry_run: DryRun = False,
) -> Output:
    """Import bounces from the tool that sends your mail, and correct what searches return.

    A permanent failure of the recipient (5.1.1 and its like) takes the e-mail out of what is
    reused, and for 30 days no new search verifies it again. A temporary one (4.x.x, a full
    mailbox), and one about you or your message (5.7.x, spam), is only counted. Nothing is
    stored about a mailbox that no search here returned.

    Columns are guessed by their names, and printed: e-mail, type (hard, soft, block), status
    (5.1.1), code (550), the server's words, time. A bad row is printed with its line, the
    others are imported all the same, and the exit code is 1. Importing the same file again
    changes nothing.

    Delivery status mails (RFC 3464) need --sent FILE, since anybody can forge one: a mail
    counts for a recipient if it returns a message that was sent to that recipient according
    to FILE. Others are counted as unproven and change nothing.

    With --json one object: file, form, columns, dry_run, and counts: rows, bounces, ignored,
    permanent, temporary, other, recorded, known, unproven, not_ours, corrected, undated, bad,
    bad_rows, damaged.

    Examples: `cs mailboxes bounced bounces.csv --dry-run`, or
    `cs mailboxes bounced returned.mbox --sent sent.csv --json`
    """
    data = await at.data()
    counts = BounceCounts()
    cause = OperatorCause(command="mailboxes bounced", who=data.by)
    reflected = data.view_runner().catch_up
    recorder = BounceRecorder(
        data.streams, data.keys, data.clock, reflected, caused_by=cause, dry_run=dry_run
    )
    try:
        read = read_bounces(file, data.clock.now(), None if sent is None else read_sent(sent))
        with Progress() as progress:
            for batch in batches(read.rows, ROWS):
                counts.add(await recorder.record(batch))
                progress.show(f"{counts.rows} rows")
                if is_hopeless(counts.rows, counts.bad):
                    bad = counts.bad_rows[-1][1]
                    problem = f"nearly all of its {counts.rows} rows are bad: {bad}"
                    stop(f"{problem}; the {counts.rows} rows before are imported")
    except BadFile as error:
        so_far = f"; the {counts.rows} rows before are imported" if counts.rows else ""
        stop(f"{error}{so_far}")
    unit = "line" if read.columns else "row"
    warn_of_rows(counts.bad_rows, counts.bad, unit, "more bad rows")
    for line in _warnings(counts):
        warn(line)
    shown = {"file": str(file), "form": read.form, "columns": read.columns}
    text = ["dry run: nothing is written"] if dry_run else []
    text += [columns_line(read.columns)] if read.columns else []
    return Output(
        [{**shown, "counts": counts, "dry_run": dry_run}],
        [*text, *facts({**asdict(counts), "bad_rows": None})],
        code=1 if counts.bad or counts.damaged else 0,
    )


def _warnings(counts: BounceCounts) -> Iterator[str]:
    if counts.damaged:
        yield (
            f"{counts.damaged} cannot be recorded until damaged streams are mended "
            "(`cs log verify` lists them); then run this again"
        )
    if counts.unproven:
        yield (
            f"{counts.unproven} are not proven and change nothing: they return no message that "
            "was sent to that recipient"
        )
    if counts.undated:
        yield f"{counts.undated} without a time are taken to be of now"
