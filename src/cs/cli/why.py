"""``cs events why``: what an event came of, back to its origin, and what came of it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from cs.assembly.operator_command import CommandContext
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import stop, styled
from cs.cli.progress import reading
from cs.domain.causation import MessageCause, OperatorCause, StartCause, TimerCause
from cs.history.causes import CausedEvent, Explanation, explain
from cs.history.history import History
from cs.history.searches import key_of_search
from cs.history.selection import Selection
from cs.history.words import cause_in_words


@on_data
async def why(
    call: Invocation,
    event: Annotated[
        str, Parameter(help="Where the event stands in the log, from 1, or a search's id.")
    ],
    /,
) -> Output:
    """Show what an event came of, back to the call or command, and all that came of it.

    Each line is an event under the one that led to it, the one asked for marked with >.
    A search is settled, and charged, because its run finished, and is shown under both.
    Of a search's id the event that admitted it is meant.

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
    """Return the position that *event* means; end the command if it means none."""
    if not event.startswith("srch_"):
        try:
            return int(event)
        except ValueError:
            stop(f"a position from 1 or a search's id, srch_..., not {event!r}", 2)
    history = History(data.log)
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
    """Return what of its cause the tree does not show."""
    match event.caused_by:
        case MessageCause(id=id_):
            return f"answer {id_.rpartition('/')[2]}"
        case TimerCause() | StartCause() | OperatorCause() if event.follows:
            return cause_in_words(event.caused_by)
        case _:
            return ""
