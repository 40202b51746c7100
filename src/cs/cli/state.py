"""``cs state``: the state of a stream at any time, and the events that changed it."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import At, end_of, position_of
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import Table, json_text, stop, styled
from cs.domain.brand.brand import stream_of
from cs.domain.codec import topic_of
from cs.eventlog.categories import CATEGORIES, category_name, category_of
from cs.eventlog.port import NO_STREAM
from cs.history.history import History
from cs.history.states import changes, plain_state

#: Characters of a changed value that are shown in the table.
_SHOWN = 60


@on_data
async def state(
    call: Invocation,
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
) -> Output:
    """Show how a key, a brand, a mail domain or the service stood at any time.

    The state is folded from the events up to then, as the service itself does it. People and
    hashes of secrets are hidden.

    Example: `cs state key_1a2s --at 2026-03-01`, and `cs state key_1a2s --diff 0 900`
    """
    if at is not None and diff is not None:
        stop("--at and --diff: one of them", 2)
    name = _stream(stream)
    data = await call.data()
    if diff is not None:
        found = await _changes(data, name, *diff)
        rows = [
            {
                "position": each["position"],
                "event": each["type"],
                "field": change.field,
                "before": _short(change.before),
                "after": _short(change.after),
            }
            for each in found
            for change in each["changes"]
        ]
        fields = "position event field before after"
        return Output(found, [Table.of(rows, fields, "before after")])
    history = History(data.log)
    then = await history.state_at(name, await end_of(history, at))
    if then.version == NO_STREAM:
        await _stop_unknown(history, name)
    row = {
        "stream": name,
        "position": then.position,
        "version": then.version,
        "state": plain_state(then.state),
    }
    line = "[bold]{}[/] as of version {}, position {}"
    head = styled(line, name, then.version, then.position)
    return Output([row], [head, json_text(row["state"])])


async def _changes(
    data: CommandContext, stream: str, first: str, last: str
) -> Sequence[dict[str, Any]]:
    """Return each event after *first* up to *last*, and what it changed."""
    history = History(data.log)
    after = await position_of(history, "--diff", first)
    upto = await position_of(history, "--diff", last)
    if after > upto:
        stop(f"--diff: {first} is after {last}", 2)
    found: list[dict[str, Any]] = []
    stood, is_known = plain_state(category_of(stream).initial), False
    async for recorded, then in history.states(stream, upto):
        is_known, before, stood = True, stood, plain_state(then.state)
        if recorded.position > after:
            found.append(
                {
                    "position": recorded.position,
                    "version": then.version,
                    "type": topic_of(recorded.event),
                    "at": recorded.event.at,
                    "changes": tuple(changes(before, stood)),
                }
            )
    if not is_known:
        await _stop_unknown(history, stream)
    return found


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


def _short(value: Any) -> str:
    text = "" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
