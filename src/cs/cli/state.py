"""``cs state``: how anything stood at any time, and what changed it."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.moment import At, position_of
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop, styled
from cs.cli.pseudonyms import People, pseudonyms
from cs.cli.settings_in_force import settings
from cs.domain.brand.brand import stream_of
from cs.domain.codec import topic_of
from cs.eventlog.categories import CATEGORIES, category_name, category_of
from cs.eventlog.port import NO_STREAM
from cs.history.changes import Change, changes
from cs.history.history import History, StateAt
from cs.history.masking import people_of, plain_state
from cs.settings import Settings

#: Of a value that changed, the first so many characters are shown in the table.
_SHOWN = 60


class StreamStateAt(msgspec.Struct, frozen=True):
    """How a stream stood."""

    stream: str
    position: int
    version: int
    state: Any


class EventChanges(msgspec.Struct, frozen=True):
    """One event, and what it changed."""

    position: int
    version: int
    type: str
    at: datetime
    changes: Sequence[Change]


def state(
    stream: Annotated[
        str,
        Parameter(
            help="A stream's name, an API key's id, a lookup's id, a mail domain with "
            "mail-domain- before it, or service."
        ),
    ],
    /,
    *,
    at: At = None,
    diff: Annotated[
        tuple[str, str] | None,
        Parameter(
            help="Show what each event changed after the one position or time, up to the other."
        ),
    ] = None,
    people: People = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show how a key, a brand, a mail domain or the service stood at any time.

    The state is folded from the events up to then, as the service itself does it. People and
    hashes of secrets are hidden; --people tells who is the same person elsewhere.

    Example: `cs state key_1a2s --at 2026-03-01`, and `cs state key_1a2s --diff 0 900`
    """
    if at is not None and diff is not None:
        stop("--at and --diff: one of them", 2)
    name = _stream(stream)
    chosen = settings(config, data_dir=data_dir)
    if diff is None:
        stood = asyncio.run(_state(chosen, name, at, people=people))
        _show(stood, json=json)
    else:
        found = asyncio.run(_changes(chosen, name, *diff, people=people))
        _show_changes(found, json=json)


async def _state(
    chosen: Settings, stream: str, at: str | None, *, people: bool
) -> StreamStateAt:
    async with open_command_context(chosen) as data:
        history = History(data.log)
        position = None if at is None else await position_of(history, "--at", at)
        found = await history.state_at(stream, position)
        if found.version == NO_STREAM:
            await _stop_unknown(history, stream)
        who = await pseudonyms(data, people_of(found.state).values()) if people else {}
        shown = _shown(found.state, who)
        return StreamStateAt(stream, found.position, found.version, shown)


def _shown(state: Any, who: Mapping[str, str]) -> Any:
    """Return *state* as JSON values, with the pseudonyms of those of whom *who* has one."""
    there = {ref: who[name] for ref, name in people_of(state).items() if name in who}
    return plain_state(state, there)


async def _changes(
    chosen: Settings, stream: str, first: str, last: str, *, people: bool
) -> Sequence[EventChanges]:
    async with open_command_context(chosen) as data:
        history = History(data.log)
        after = await position_of(history, "--diff", first)
        upto = await position_of(history, "--diff", last)
        if after > upto:
            stop(f"--diff: {first} is after {last}", 2)
        names: set[str] = set()
        if people:
            async for _, folded in history.states(stream, upto):
                names.update(people_of(folded.state).values())
        who = await pseudonyms(data, names) if names else {}
        found: list[EventChanges] = []
        stood = plain_state(category_of(stream).initial)
        known = False
        async for event, folded in history.states(stream, upto):
            known, before, stood = True, stood, _shown(folded.state, who)
            if event.position > after:
                found.append(_event_changes(event.position, folded, event.event, before, stood))
        if not known:
            await _stop_unknown(history, stream)
        return found


def _event_changes(
    position: int, folded: StateAt, event: Any, before: Any, after: Any
) -> EventChanges:
    changed = tuple(changes(before, after))
    return EventChanges(position, folded.version, topic_of(event), event.at, changed)


async def _stop_unknown(history: History, stream: str) -> None:
    now = await history.state_at(stream)
    if now.version == NO_STREAM:
        stop(f"{stream} has no events; `cs events export` shows which streams have")
    stop(f"{stream} had no events by then")


def _stream(said: str) -> str:
    """Return the name of the stream that *said* means."""
    if said.startswith("key_"):
        return f"key-{said}"
    if said.startswith("brand-") and "." in said:
        return stream_of(said)
    if category_name(said) not in CATEGORIES:
        known = ", ".join(CATEGORIES)
        stop(f"{said!r} is no stream: its name begins with its category ({known})", 2)
    return said


def _show(stood: StreamStateAt, *, json: bool) -> None:
    if json:
        print_json(stood)
        return
    console.print(
        styled(
            "[bold]{}[/] as of version {}, position {}",
            stood.stream,
            stood.version,
            stood.position,
        )
    )
    console.print(msgspec.json.format(msgspec.json.encode(stood.state), indent=2).decode())


def _show_changes(found: Sequence[EventChanges], *, json: bool) -> None:
    if json:
        for each in found:
            print_json(each)
        return
    rows = [
        (
            str(each.position),
            each.type,
            change.field,
            _short(change.before),
            _short(change.after),
        )
        for each in found
        for change in each.changes
    ]
    print_table(
        ("Position", "Event", "Field", "Before", "After"), rows, folds=["Before", "After"]
    )


def _short(value: Any) -> str:
    text = "" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
