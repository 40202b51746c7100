"""Exports into files of DuckDB and Parquet: what of `cs events export` is no text."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from cs.assembly.operator_command import CommandContext
from cs.cli.output import console, stop
from cs.cli.progress import Progress
from cs.cli.revealing import disclose
from cs.history.history import History
from cs.history.identities import identities
from cs.history.part_folder import check_free
from cs.history.selection import Selection
from cs.history.tables import TABLES

Format = Literal["ndjson", "parquet", "duckdb", "tables"]

#: By the ending of a file's name; any other is lines of JSON.
_BY_ENDING: dict[str, Format] = {".duckdb": "duckdb", ".parquet": "parquet"}
#: Filters that leave half a search or half a lookup; a row of a table is made of both.
_OF_EVENTS = {
    "types": "--type",
    "categories": "--category",
    "streams": "--stream",
    "mail_domain": "--mail-domain",
}


def format_of(out: Path | None, said: Format | None) -> Format:
    """Return the format that is meant: *said*, or else by the ending of *out*."""
    if said is not None:
        return said
    return "ndjson" if out is None else _BY_ENDING.get(out.suffix.lower(), "ndjson")


def check_whole(selection: Selection) -> None:
    """End the command if *selection* leaves half a search or half a lookup."""
    for field, option in _OF_EVENTS.items():
        if getattr(selection, field):
            stop(f"{option}: tables need whole searches and lookups; {_INSTEAD}", 2)


async def export_tables(
    data: CommandContext, selection: Selection, out: Path, form: Format, *, why: str | None
) -> None:
    """Write typed tables of *selection* to *out*, and say how far they go.

    People are in it if *why* says why.

    Raises:
        OtherExport, ExportFailed: They cannot be made.
    """
    # Imported here: DuckDB is large.
    from cs.history import export  # noqa: PLC0415

    head = await History(data.log).head()
    if why is not None:
        check_free(out)  # or nothing is opened
        await disclose(data, "events export", why, selection.asked(), upto=head, out=out)
    with Progress(bar=True) as progress, few_collections():

        def show_reading(position: int, upto: int) -> None:
            progress.show(f"{position} of {upto} positions read", position / upto)

        async with identities(data.log, data.keys) as people:
            position = await export.export_tables(
                data.log,
                data.keys,
                selection,
                out,
                "duckdb" if form == "duckdb" else "tables",
                people=people,
                reveal=why is not None,
                head=head,
                progress=show_reading,
            )
    tables = len(TABLES)
    console.print(f"{tables} tables up to position {position} written to {out}")


@contextmanager
def few_collections() -> Iterator[None]:
    """Look for cycles of objects rarely: events and rows are many and form none.

    Otherwise that takes a fifth of the time.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


_INSTEAD = "choose by --brand, --lookup, --key, time or position, or export --format ndjson"
