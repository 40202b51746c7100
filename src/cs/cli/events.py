"""``cs events``: the history of the service, event by event."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import Chosen
from cs.cli.command import Invocation, Output, command, number, on_data
from cs.cli.output import json_text, print_json, stop, styled
from cs.cli.progress import reading
from cs.cli.revealing import Reveal
from cs.cli.why import why
from cs.eventlog.stored_cause import cause_in
from cs.history.history import History
from cs.history.identities import Identities, identities
from cs.history.lines import ShownEvent, check_known, shown_events
from cs.history.part_folder import check_free, disk_failures
from cs.history.selection import Selection
from cs.history.tables import TABLES
from cs.history.words import cause_in_words
from cs.keystore.port import KeyStore

app = App(
    name="events",
    help="The history of the service, event by event. People stay sealed unless --reveal "
    "says why.\n\n"
    "Works on the data folder or the databases, beside a running service or without one. "
    "What the types of events mean: docs/analysts.md.",
)

app.command(why)

#: How long `cs events tail` opens people of one reason.
REVEALED_FOR = timedelta(hours=8)

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
#: Without options.
EVERY = Chosen()


@app.command
@command("data_dir", "config")
async def export(
    at: Invocation,
    chosen: Chosen = EVERY,
    *,
    out: Annotated[
        Path | None, Parameter(help="Into this file, which must not be there; else printed.")
    ] = None,
    format: Annotated[  # noqa: A002  the option's name
        Format | None,
        Parameter(
            help="`ndjson`: lines of JSON; `parquet`: the same as Parquet; `duckdb`: a DuckDB "
            "file of typed tables with ready views; `tables`: those as a folder of Parquet "
            "files. Else by the ending of --out: .parquet, .duckdb or any other."
        ),
    ] = None,
    resume: Annotated[
        bool,
        Parameter(negative="", help="Go on after the last event that is in the file --out."),
    ] = False,
    reveal: Reveal = None,
) -> Output:
    """Write events as lines of JSON, oldest first, or typed tables of them.

    A line has position, stream, version, type, at and data. In place of what is said about a
    person stands who it is about: `<lookup>#p1`, and the person's pseudonym over all lookups.
    What is appended meanwhile is left for the next time: --resume goes on where the file ends,
    also if it was cut off in the middle of a line. With --reveal what is said about people is
    shown, but for who was erased.

    A file of Parquet or DuckDB appears under its name when it is whole; one that was cut off is
    made again.

    Example: `cs events export --type search-settled --since 2026-03-01 --out settled.ndjson`,
    and `cs events export --out history.duckdb`
    """
    form = format or _BY_ENDING.get(out.suffix.lower() if out else "", "ndjson")
    selection = chosen.checked()
    if out is None and (resume or form != "ndjson"):
        option = "--resume" if resume else f"--format {form}"
        stop(f"{option}: name the file with --out", 2)
    if form != "ndjson" and resume:
        stop(f"--resume: goes with lines of JSON; without it {out} is made again", 2)
    if form in ("duckdb", "tables"):
        _check_whole(selection)
    data = await at.data()
    selection = await chosen.selection(History(data.log))
    if out is None:
        await _write(data, selection, _print_all, why=reveal)
        return Output()
    if form in ("duckdb", "tables"):
        position = await _write_tables(data, selection, out, form, why=reveal)
        written = f"{len(TABLES)} tables up to position {position}"
    else:
        with _line_file(out, resume=resume) if form == "ndjson" else _parquet(out) as file:
            if resume:
                done = max(selection.after, _last_position(file))
                selection = replace(selection, after=done)
            write = partial(_write_lines, file)
            count = await _write(data, selection, write, why=reveal, out=out)
        written = f"{count} events"
    return Output(text=[f"{written} written to {out}"])


@app.command
@on_data
async def show(
    at: Invocation,
    position: Annotated[int, Parameter(help="Where it stands in the log, from 1.")],
    /,
    *,
    reveal: Reveal = None,
) -> Output:
    """Show one event.

    Example: `cs events show 17`
    """
    data = await at.data()
    if not 1 <= position <= await data.log.head():
        stop(f"there is no event at position {position}")
    only = Selection(after=position - 1, upto=position)
    keys = await _opened(data, "events show", only, reveal, upto=position)
    people = await at.opened(identities(data.log, data.keys))
    (events,) = [page async for page in History(data.log).pages(only)]
    (event,) = await shown_events(events, people, keys)
    shown: dict[str, Any] = msgspec.json.decode(event.line())
    said = msgspec.json.encode(shown["data"])
    head = styled(
        "[bold]{}[/]  {}\n{} version {}, position {}\ncaused by: {}",
        *(shown[name] for name in ("type", "at", "stream", "version", "position")),
        cause_in_words(cause_in(said)),
    )
    return Output([shown], [head, json_text(shown["data"])])


@app.command
@command("data_dir", "config")
async def tail(
    at: Invocation,
    chosen: Chosen = EVERY,
    *,
    last: Annotated[int, number(0, 10**9, "Begin with the newest so many positions.")] = 10,
    reveal: Reveal = None,
) -> Output:
    """Print events as they are appended, as lines of JSON, until Ctrl-C.

    With --reveal it ends by itself after eight hours.

    Example: `cs events tail --category brand | jq .type`
    """
    chosen.checked()
    data = await at.data()
    history = History(data.log)
    selection = await chosen.selection(history, growing=True)
    selection = replace(selection, after=max(await history.head() - last, selection.after))
    people = await at.opened(identities(data.log, data.keys))
    if reveal is None:
        await _follow(data, selection, people, None)
        return Output()
    end = data.clock.now() + REVEALED_FOR
    asked = selection.asked()
    await data.operator.disclose("events tail", reveal, asked, upto=None, open_until=end)
    until = end if selection.until is None else min(selection.until, end)
    try:
        async with asyncio.timeout(REVEALED_FOR.total_seconds()):
            await _follow(data, replace(selection, until=until), people, data.keys)
    except TimeoutError:
        stop("people are opened for eight hours; say why again", 0)
    return Output()


async def _follow(
    data: CommandContext, selection: Selection, people: Identities, keys: KeyStore | None
) -> None:
    """Print the events of *selection* up to its last position, as they are appended."""
    after = selection.after
    while selection.upto is None or after < selection.upto:
        upto = await data.log.head()
        page = replace(selection, after=after, upto=upto)
        async for events in History(data.log).pages(page):
            _print_all(await shown_events(events, people, keys))
        after = max(after, upto)
        await data.log.grown(after)


async def _opened(
    data: CommandContext,
    name: str,
    selection: Selection,
    why: str | None,
    *,
    upto: int,
    out: Path | None = None,
) -> KeyStore | None:
    """Return what opens people for the command *name*; that it does is stored before."""
    if why is None:
        return None
    if selection.after < upto:  # else there is nothing to open
        file = out.name if out else None
        await data.operator.disclose(name, why, selection.asked(), upto=upto, file=file)
    return data.keys


async def _write(
    data: CommandContext,
    selection: Selection,
    write: Callable[[Sequence[ShownEvent]], object],
    *,
    why: str | None,
    out: Path | None = None,
) -> int:
    """Write the events of *selection*; return how many there are."""
    head, count = await data.log.head(), 0
    upto = head if selection.upto is None else min(selection.upto, head)
    keys = await _opened(data, "events export", selection, why, upto=upto, out=out)
    selection = replace(selection, upto=upto)
    with reading("exporting") as show:
        async with identities(data.log, data.keys, show) as people:
            async for page in History(data.log).pages(selection, show):
                check_known(page)
                write(await shown_events(page, people, keys))
                count += len(page)
    return count


async def _write_tables(
    data: CommandContext,
    selection: Selection,
    out: Path,
    form: Literal["duckdb", "tables"],
    *,
    why: str | None,
) -> int:
    """Write typed tables of *selection*; return the last position in them."""
    from cs.history.export import export_tables  # noqa: PLC0415  DuckDB is large

    check_free(out)  # or nothing is opened
    head = await data.log.head()
    await _opened(data, "events export", selection, why, upto=head, out=out)
    with reading("exporting") as show:
        async with identities(data.log, data.keys) as people:
            return await export_tables(
                data.log,
                data.keys,
                selection,
                out,
                form,
                people=people,
                reveal=why is not None,
                head=head,
                progress=show,
            )


def _check_whole(selection: Selection) -> None:
    """End the command if *selection* leaves half a search or half a lookup."""
    for field, option in _OF_EVENTS.items():
        if getattr(selection, field):
            stop(
                f"{option}: tables need whole searches and lookups; choose by --brand, "
                "--lookup, --key, time or position, or export --format ndjson",
                2,
            )


def _parquet(out: Path) -> AbstractContextManager[BinaryIO]:
    from cs.history.export import event_file  # noqa: PLC0415  DuckDB is large

    return event_file(out)


@contextmanager
def _line_file(out: Path, *, resume: bool) -> Iterator[BinaryIO]:
    """Open *out* for lines of JSON, private to its owner; if *resume*, one that is there."""
    flags = os.O_RDWR | os.O_CREAT | (0 if resume else os.O_EXCL)
    try:
        descriptor = os.open(out, flags, 0o600)
    except FileExistsError:
        stop(f"{out} is there already: name another file, or go on with it with --resume", 2)
    except OSError as error:
        stop(f"{out} cannot be written: {error.strerror}")
    with os.fdopen(descriptor, "r+b") as file, disk_failures(out):
        yield file
        file.flush()


class _Position(msgspec.Struct):
    position: int


def _last_position(file: BinaryIO) -> int:
    """Return the position of the last whole line of *file*, cut off after it; 0: it has none.

    Raises:
        SystemExit: It is no export.
    """
    last, end = 0, 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        try:
            last = msgspec.json.decode(line, type=_Position).position
        except msgspec.MsgspecError:
            stop("--out: the file is no export of events; name another one")
        end += len(line)
    file.seek(end)
    file.truncate()
    return last


def _write_lines(file: BinaryIO, page: Sequence[ShownEvent]) -> None:
    file.write(b"".join(shown.line() for shown in page))


def _print_all(page: Sequence[ShownEvent]) -> None:
    for shown in page:
        _print(shown.line())


def _print(line: bytes) -> None:
    """Print *line*, whose words came from anywhere, for a terminal or a program."""
    print_json(msgspec.json.decode(line))
