"""``cs events``: the history of the service, event by event."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace
from rich.text import Text

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import Chosen, Reveal
from cs.cli.command import Invocation, Output, check_folder, command, number, on_data
from cs.cli.output import json_text, print_json, reading, stop, styled
from cs.domain.causation import MessageCause, OperatorCause, StartCause, TimerCause
from cs.eventlog.stored_cause import cause_in
from cs.history.causes import CausedEvent, Explanation, explain
from cs.history.identities import Identities, identities
from cs.history.lines import ShownEvent, check_known, shown_events
from cs.history.part_folder import check_free, disk_failures
from cs.history.searches import key_of_search
from cs.history.selection import Selection
from cs.history.tables import TABLES
from cs.history.words import cause_in_words
from cs.keystore.port import KeyStore

app = App(
    name="events",
    help="The history of the service, event by event. People stay sealed unless --reveal "
    "says why.\n\n"
    "Works on the data folder or the databases, next to a running service or without one. "
    "What the types of events mean: docs/analysts.md.",
)

#: How long one reason lets `cs events tail` show people.
REVEALED_FOR = timedelta(hours=8)

Format = Literal["ndjson", "parquet", "duckdb", "tables"]
#: By the ending of a file's name; any other is lines of JSON.
_BY_ENDING: dict[str, Format] = {".duckdb": "duckdb", ".parquet": "parquet"}
#: Writes a page of events.
_Write = Callable[[Sequence[ShownEvent]], object]
#: Without options.
EVERY = Chosen()


@app.command
@command("data_dir", "config")
async def export(
    at: Invocation,
    chosen: Chosen = EVERY,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            help="Into this file, which must not be there; else printed.",
            validator=check_folder,
        ),
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
        bool, Parameter(help="Go on after the last event that is in the file --out.")
    ] = False,
    reveal: Reveal = None,
) -> Output:
    """Write events as lines of JSON, oldest first, or typed tables of them.

    A line has position, stream, version, type, at and data. The data of a person is replaced
    by `<lookup>#p1` and by the person's pseudonym over all lookups.
    Events appended meanwhile are left for the next time: --resume goes on where the file ends,
    also if it was cut off in the middle of a line. With --reveal people are shown, except
    those who were erased.

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
    is_tables = form in ("duckdb", "tables")
    if is_tables and (
        chosen.types or chosen.categories or chosen.streams or chosen.mail_domain
    ):
        stop(
            "tables need whole searches and lookups: choose by --brand, --lookup, --key, time "
            "or position, or export --format ndjson",
            2,
        )
    data = await at.data()
    selection = await chosen.selection(data.history)
    if out is not None and is_tables:
        position = await _write_tables(data, selection, out, form, why=reveal)
        return Output(text=[f"{len(TABLES)} tables up to position {position} written to {out}"])
    with _writing(out, form, resume=resume) as (done, write):
        selection = replace(selection, after=max(selection.after, done))
        count = await _write(data, selection, write, why=reveal, out=out)
    return Output(text=[] if out is None else [f"{count} events written to {out}"])


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
    (events,) = [page async for page in data.history.pages(only)]
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
    history = data.history
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
        async for events in data.history.pages(page):
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
    """Store that the command *name* opens people, then return the keys that do."""
    if why is None:
        return None
    if selection.after < upto:  # else there is nothing to open
        file = out.name if out else None
        await data.operator.disclose(name, why, selection.asked(), upto=upto, file=file)
    return data.keys


async def _write(
    data: CommandContext,
    selection: Selection,
    write: _Write,
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
            async for page in data.history.pages(selection, show):
                check_known(page)
                write(await shown_events(page, people, keys))
                count += len(page)
    return count


async def _write_tables(
    data: CommandContext,
    selection: Selection,
    out: Path,
    form: Format,
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
                "duckdb" if form == "duckdb" else "tables",
                people=people,
                reveal=why is not None,
                head=head,
                progress=show,
            )


@contextmanager
def _writing(out: Path | None, form: Format, *, resume: bool) -> Iterator[tuple[int, _Write]]:
    """Yield the last position that *out* has already, and a function that writes events there.

    Without *out* they are printed.  A file is a new one, private to its owner; lines of JSON
    may go on in one that is there.
    """
    if out is None:
        yield 0, _print_all
        return
    with _line_file(out, resume=resume) if form == "ndjson" else _parquet(out) as file:
        done = _last_position(file) if resume else 0
        yield done, lambda page: file.write(b"".join(shown.line() for shown in page))


def _parquet(out: Path) -> AbstractContextManager[BinaryIO]:
    from cs.history.export import event_file  # noqa: PLC0415  DuckDB is large

    return event_file(out)


@contextmanager
def _line_file(out: Path, *, resume: bool) -> Iterator[BinaryIO]:
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


def _print_all(page: Sequence[ShownEvent]) -> None:
    for shown in page:
        print_json(msgspec.json.decode(shown.line()))  # its words came from anywhere


@app.command
@on_data
async def why(
    call: Invocation,
    event: Annotated[
        str, Parameter(help="Where the event stands in the log, from 1, or a search's id.")
    ],
    /,
) -> Output:
    """Show what led to an event, back to the call or command, and all that followed from it.

    Each line is an event under the one that led to it; the requested one is marked with >.
    A search is settled, and charged, because its run finished, and is shown under both.
    The id of a search means the event that admitted it.

    Example: `cs events why 17`, and `cs events why srch_yg2vnp75fv9fazbxhr4fyb0qgm`
    """
    data = await call.data()
    with reading("looking for what belongs together") as progress:
        position = await _position(data, event)
        found = await explain(data.log, position, progress)
    if found is None:
        stop(f"there is no event at position {position}")
    plain = {
        "event": found.event.plain(),
        "before": [each.plain() for each in found.before],
        "after": [each.plain() for each in found.after],
    }
    return Output(rows=[plain], text=_tree(found))


async def _position(data: CommandContext, event: str) -> int:
    if not event.startswith("srch_"):
        try:
            return int(event)
        except ValueError:
            stop(f"a position from 1 or a search's id, srch_..., not {event!r}", 2)
    history = data.history
    key = await key_of_search(history, data.views, event)
    made = Selection(types=("search-admitted",), keys=(key,) if key else ("none",))
    found = [e.position async for e in history.events(made) if e.data()["search"] == event]
    if not found:
        stop(f"there is no search {event}; `cs searches list` shows those there are")
    return found[0]


def _tree(found: Explanation) -> Iterator[Text]:
    """Yield the lines of *found*: every event below what led to it, from the origins on."""
    events = {e.position: e for e in (*found.before, found.event, *found.after)}

    def branch(event: CausedEvent, indent: str) -> Iterator[Text]:
        is_asked = event is found.event
        yield styled(
            "{} {}{} [bold]{}[/]  [dim]{}[/]" if is_asked else "{} {}{} {}  [dim]{}[/]",
            ">" if is_asked else " ",
            indent,
            event.position,
            f"{_name(event)} {_says(event)}".rstrip(),
            ", ".join(filter(None, (_milliseconds(event), _led_by(event)))),
        )
        for each in events.values():
            parents = [position for position in each.follows if position in events]
            if event.position in parents[:1]:
                yield from branch(each, indent + "  ")
            elif event.position in parents:
                yield styled(
                    "  {}  [dim]{} {}: see there[/]", indent, each.position, _name(each)
                )

    for event in events.values():
        if events.keys().isdisjoint(event.follows):
            yield styled("[bold]{}[/]", cause_in_words(event.caused_by))
            yield from branch(event, "")


def _name(event: CausedEvent) -> str:
    return event.stored.topic.rpartition(".v")[0]


def _milliseconds(event: CausedEvent) -> str:
    return event.stored.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _says(event: CausedEvent) -> str:
    said = defaultdict[str, Any](str, event.said)
    attempt, verified, charged = said["attempt"], said["verified"], event.said.get("charged")
    words = (
        said["search"] or (said["lookup"] if event.kind.startswith("lookup-") else ""),
        said["stage"],
        said["item"] or said["mail_domain"],
        said["checked"] and said["checked"]["person"],
        attempt and f"attempt {attempt}",
        said["why"],
        said["outcome"],
        verified and f"{verified} verified",
        "" if charged is None else "charged" if charged else "not charged",
        said["cached"] and "reused",
    )
    return ", ".join(word for word in words if word)


def _led_by(event: CausedEvent) -> str:
    """Return the part of its cause that the tree does not show."""
    match event.caused_by:
        case MessageCause(id=id_):
            return f"answer {id_.rpartition('/')[2]}"
        case TimerCause() | StartCause() | OperatorCause() if event.follows:
            return cause_in_words(event.caused_by)
        case _:
            return ""
