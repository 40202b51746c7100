"""``cs events``: the history of the service, event by event."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
from cyclopts import App, Group, Parameter

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.cli.choosing import Chosen
from cs.cli.event_files import (
    Format,
    check_whole,
    export_tables,
    few_collections,
    format_of,
)
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, stop, styled
from cs.cli.progress import Progress
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.cli.settings_in_force import settings
from cs.cli.why import why
from cs.eventlog.stored_cause import cause_in
from cs.history.history import History
from cs.history.identities import identities
from cs.history.lines import ShownEvent, check_known, event_lines, shown_events
from cs.history.part_folder import disk_failures
from cs.history.selection import Selection
from cs.history.words import cause_in_words
from cs.keystore.port import KeyStore
from cs.settings import Settings

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

_WHICH = Group("Which events", help="All of them unless something is said.", sort_key=1)


@Parameter(name="*", group=_WHICH)
@dataclass(frozen=True, kw_only=True)  # what cyclopts makes options of
class Which:
    """Which events."""

    type: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="Of this type: `key.search-settled.v1`, `key.search-settled` (all versions) "
            "or `search-settled`. Can be given several times.",
        ),
    ] = ()
    category: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="Of streams of this category: key, brand, mail-domain, person, disclosure "
            "or service. "
            "Can be given several times.",
        ),
    ] = ()
    stream: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", show_default=False, help="Of this stream. Can be given several times."
        ),
    ] = ()
    key: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="Of the API key of this id. Can be given several times.",
        ),
    ] = ()
    brand: Annotated[
        str | None,
        Parameter(help="Of this brand, however it was asked for; with --domain, of both."),
    ] = None
    domain: Annotated[str | None, Parameter(help="Of the brand of this web domain.")] = None
    lookup: Annotated[str | None, Parameter(help="Of this lookup, by its id.")] = None
    mail_domain: Annotated[str | None, Parameter(help="Of this mail domain.")] = None
    since: Annotated[
        str | None, Parameter(help="From this time on: 2026-03-01 or 2026-03-01T12:00:00Z.")
    ] = None
    until: Annotated[str | None, Parameter(help="Before this time.")] = None
    after: Annotated[int, Parameter(help="After this position.")] = 0
    upto: Annotated[int | None, Parameter(help="Up to this position.")] = None

    def chosen(self) -> Chosen:
        """Return what is chosen, checked as far as that needs no log."""
        chosen = Chosen(
            types=self.type,
            categories=self.category,
            streams=self.stream,
            keys=self.key,
            brand=self.brand,
            domain=self.domain,
            lookup=self.lookup,
            mail_domain=self.mail_domain,
            since=self.since,
            until=self.until,
            after=self.after,
            upto=self.upto,
        )
        chosen.checked()
        return chosen


EVERY = Which()


@app.command
def export(
    which: Which = EVERY,
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
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
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
    if resume and out is None:
        stop("--resume: name the file with --out", 2)
    check_reason(reveal)
    form = format_of(out, format)
    if form != "ndjson" and out is None:
        stop(f"--format {form}: name the file with --out", 2)
    if form != "ndjson" and resume:
        stop(f"--resume: goes with lines of JSON; without it {out} is made again", 2)
    chosen = settings(config, data_dir=data_dir)
    request = EventRequest(which.chosen(), "events export", reveal, out)
    if out is None:
        asyncio.run(_export(chosen, request, _print_all))
        return
    if form == "parquet":
        from cs.history.export import event_file  # noqa: PLC0415  DuckDB is large

        with event_file(out) as write:
            count = asyncio.run(_export(chosen, request, write))
    elif form == "ndjson":
        with _opened(out, resume=resume) as file, disk_failures(out):
            rest = replace(request, after=_last_position(file) if resume else 0)
            count = asyncio.run(_export(chosen, rest, lambda page: file.write(_lines(page))))
            file.flush()
    else:
        check_whole(request.chosen.checked())
        asyncio.run(_tables(chosen, request, out, form))
        return
    console.print(f"{count} events written to {out}")


async def _tables(settings: Settings, request: "EventRequest", out: Path, form: Format) -> None:
    async with open_command_context(settings) as data:
        selection = await request.chosen.selection(History(data.log))
        await export_tables(data, selection, out, form, why=request.why)


@app.command
def show(
    position: Annotated[int, Parameter(help="Where it stands in the log, from 1.")],
    /,
    *,
    reveal: Reveal = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show one event.

    Example: `cs events show 17`
    """
    check_reason(reveal)
    lines: list[bytes] = []
    if position >= 1:
        request = EventRequest(Chosen(), "events show", reveal, only=position)
        chosen = settings(config, data_dir=data_dir)
        asyncio.run(_export(chosen, request, lambda page: lines.append(_lines(page))))
    if not lines:
        stop(f"there is no event at position {position}")
    if json:
        _print(lines[0])
        return
    shown: dict[str, Any] = msgspec.json.decode(lines[0])
    data = msgspec.json.format(msgspec.json.encode(shown["data"]), indent=2)
    console.print(
        styled(
            "[bold]{}[/]  {}\n{} version {}, position {}\ncaused by: {}",
            shown["type"],
            shown["at"],
            shown["stream"],
            shown["version"],
            shown["position"],
            _cause(shown["data"]),
        )
    )
    console.print(data.decode())


def _cause(data: dict[str, Any]) -> str:
    """Return what caused an event, in words."""
    cause = cause_in(msgspec.json.encode(data))
    return cause_in_words(cause)


@app.command
def tail(
    which: Which = EVERY,
    *,
    last: Annotated[int, Parameter(help="Begin with the newest so many positions.")] = 10,
    reveal: Reveal = None,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Print events as they are appended, as lines of JSON, until Ctrl-C.

    With --reveal it ends by itself after eight hours.

    Example: `cs events tail --category brand | jq .type`
    """
    if last < 0:
        stop(f"--last: a whole number from 0 on, not {last}", 2)
    check_reason(reveal)
    request = EventRequest(which.chosen(), "events tail", reveal)
    asyncio.run(_tail(settings(config, data_dir=data_dir), request, last))


@dataclass(frozen=True)
class EventRequest:
    """What a command shows, and why it opens people, if it does.

    Attributes:
        after: All up to this position was shown before.
        only: The one position that is shown.
    """

    chosen: Chosen
    command: str
    why: str | None = None
    out: Path | None = None
    after: int = 0
    only: int | None = None

    async def selection(self, history: History, *, growing: bool = False) -> Selection:
        """Return which events of *history* are shown."""
        if self.only is not None:
            return Selection(after=self.only - 1, upto=self.only)
        found = await self.chosen.selection(history, growing=growing)
        return msgspec.structs.replace(found, after=max(found.after, self.after))


async def _tail(chosen: Settings, request: EventRequest, last: int) -> None:
    async with (
        open_command_context(chosen) as data,
        identities(data.log, data.keys) as people,
    ):
        history = History(data.log)
        selection = await request.selection(history, growing=True)
        after = max(await history.head() - last, selection.after)
        keys, open_until = None, None
        if request.why is not None:
            keys, open_until = data.keys, data.clock.now() + REVEALED_FOR
            asked = msgspec.structs.replace(selection, after=after).asked()
            await disclose(
                data, request.command, request.why, asked, upto=None, open_until=open_until
            )
            if selection.until is None or selection.until > open_until:
                selection = msgspec.structs.replace(selection, until=open_until)
        while selection.upto is None or after < selection.upto:
            if open_until is not None and data.clock.now() >= open_until:
                stop("people are opened for eight hours; say why again", 0)
            upto = await history.head()
            page = msgspec.structs.replace(selection, after=after, upto=upto)
            async for _, line in event_lines(history.events(page), people, keys):
                _print(line)
            after = max(after, upto)
            left = None
            if open_until is not None:
                left = max((open_until - data.clock.now()).total_seconds(), 0)
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await data.log.grown(after)


async def _export(
    chosen: Settings, request: EventRequest, write: Callable[[Sequence[ShownEvent]], object]
) -> int:
    """Write the events of *request*; return how many there were."""
    count = 0
    async with open_command_context(chosen) as data:
        selection, keys = await _opening(data, request)
        with Progress(bar=True) as progress, few_collections():

            def show_progress(position: int, upto: int) -> None:
                text = f"{position} of {upto} positions read, {count} events written"
                progress.show(text, position / upto)

            def show_people(position: int, upto: int) -> None:
                progress.show(f"telling people apart: {position} of {upto} positions read")

            async with identities(data.log, data.keys, show_people) as people:
                async for _, page in History(data.log).pages(selection, show_progress):
                    if request.command == "events export":
                        check_known(page)
                    shown = await shown_events(page, people, keys)
                    write(shown)
                    count += len(shown)
    return count


async def _opening(
    data: CommandContext, request: EventRequest
) -> tuple[Selection, KeyStore | None]:
    """Return the events of *request* that may be shown, and what opens people if it does."""
    selection = await request.selection(History(data.log))
    if request.why is None:
        return selection, None
    head, asked = await data.log.head(), selection.asked()
    upto = head if selection.upto is None else min(selection.upto, head)
    selection = msgspec.structs.replace(selection, upto=upto)
    if selection.after < upto:  # else there is nothing to open
        await disclose(data, request.command, request.why, asked, upto=upto, out=request.out)
    return selection, data.keys


@contextmanager
def _opened(out: Path, *, resume: bool) -> Any:
    """Yield the file *out*, private to its owner: opened again if *resume*, else new."""
    flags = os.O_RDWR | os.O_CREAT | (0 if resume else os.O_EXCL)
    try:
        descriptor = os.open(out, flags, 0o600)
    except FileExistsError:
        stop(f"{out} is there already: name another file, or go on with it with --resume", 2)
    except OSError as error:
        stop(f"{out} cannot be written: {error.strerror}")
    with os.fdopen(descriptor, "r+b") as file:
        yield file


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


class _Position(msgspec.Struct):
    position: int


def _lines(page: Sequence[ShownEvent]) -> bytes:
    return b"".join(shown.line() for shown in page)


def _print_all(page: Sequence[ShownEvent]) -> None:
    for shown in page:
        _print(shown.line())


def _print(line: bytes) -> None:
    """Print *line*, whose words came from anywhere, for a terminal or a program."""
    print_json(msgspec.json.decode(line))
