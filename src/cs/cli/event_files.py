"""Exports into files of DuckDB and Parquet: what of `cs events export` is no text."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from cs.assembly.operator_command import open_command_context
from cs.cli.output import console, stop
from cs.cli.progress import Progress
from cs.cli.revealing import disclose
from cs.history.export.errors import ExportFailed, OtherExport
from cs.history.export.extra import ExtraMissing, check_installed
from cs.history.history import History
from cs.history.identities import identities
from cs.history.lines import ShownEvent
from cs.history.selection import Selection
from cs.settings import Settings

Format = Literal["ndjson", "parquet", "duckdb", "tables"]
FORMATS: tuple[Format, ...] = get_args(Format)

#: By the ending of a file's name; any other is lines of JSON.
_BY_ENDING: dict[str, Format] = {".duckdb": "duckdb", ".parquet": "parquet"}
#: Filters that leave half a search or half a lookup; a row of a table is made of both.
_OF_EVENTS = {
    "types": "--type",
    "categories": "--category",
    "streams": "--stream",
    "mail_domain": "--mail-domain",
}
#: How much of the work is reading; the rest is making tables.
_READING = 0.9


def format_of(out: Path | None, said: Format | None) -> Format:
    """Return the format that is meant: *said*, or else by the ending of *out*."""
    if said is not None:
        return said
    return "ndjson" if out is None else _BY_ENDING.get(out.suffix.lower(), "ndjson")


async def export_tables(
    chosen: Settings,
    selection: Selection,
    out: Path,
    form: Format,
    *,
    why: str | None,
    resume: bool,
) -> None:
    """Write typed tables of *selection* to *out*, and say how far they go.

    People are in it if *why* says why.

    Raises:
        SystemExit: They cannot be made; one sentence has said why.
    """
    for field, option in _OF_EVENTS.items():
        if getattr(selection, field):
            stop(f"{option}: tables need whole searches and lookups; {_INSTEAD}", 2)
    with failures_told():
        check_installed()
        # Imported here: DuckDB and pyarrow are large, and an extra.
        from cs.history.export.tables import TABLES  # noqa: PLC0415
        from cs.history.export.typed import TablesExport  # noqa: PLC0415

        async with (
            open_command_context(chosen) as data,
            identities(data.log, data.keys) as people,
        ):
            history = History(data.log)
            head = await history.head()
            made = partial(TablesExport, history, data.keys, selection, out, people=people)
            export = made(
                "duckdb" if form == "duckdb" else "tables",
                resume=resume,
                reveal=why is not None,
                head=head,
            )
            if why is not None:
                export.check_free()  # or nothing is opened
                await disclose(
                    data, "events export", why, selection.asked(), upto=head, out=out
                )
            with Progress(bar=True) as progress, few_collections():

                def show_reading(position: int, upto: int) -> None:
                    progress.show(
                        f"{position} of {upto} positions read", _READING * position / upto
                    )

                def show_making(table: str) -> None:
                    names = [each.name for each in TABLES]
                    rest = (1 - _READING) * names.index(table) / len(names)
                    progress.show(f"making the table {table}", _READING + rest)

                position = await export.make(show_reading, show_making)
    console.print(f"{len(TABLES)} tables up to position {position} written to {out}")


@contextmanager
def parquet_file(
    out: Path, *, resume: bool
) -> Iterator[Callable[[Sequence[ShownEvent]], object]]:
    """Yield what writes events to the Parquet file *out*, there when this ends well.

    Raises:
        SystemExit: It cannot be written; one sentence has said why.
    """
    with failures_told():
        check_installed()
        from cs.history.export.event_file import event_file  # noqa: PLC0415

        with event_file(out, resume=resume) as file:
            yield file.write


@contextmanager
def failures_told() -> Iterator[None]:
    """End the command where an export cannot be made, and say why in a sentence."""
    try:
        yield
    except OtherExport as other:
        stop(str(other), 2)
    except (ExtraMissing, ExportFailed) as failed:
        stop(str(failed))


@contextmanager
def few_collections() -> Iterator[None]:
    """Look for cycles of objects rarely: events and rows are many and form none.

    Otherwise that takes a fifth of the time (bench/export.py).
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_INSTEAD = "choose by --brand, --lookup, --key, time or position, or export --format ndjson"
