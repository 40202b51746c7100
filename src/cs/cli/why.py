"""``cs events why``: what an event came of, back to its origin, and what came of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from cs.assembly.operator_command import CommandContext
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import stop, styled
from cs.cli.pseudonyms import reading
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
    if key is None:
        stop(f"there is no search {event}; `cs searches list` shows those there are")
    made = Selection(types=("search-admitted",), keys=(key,))
    searches = {e.data()["search"]: e.position async for e in history.events(made)}
    return searches[event]


def _tree(found: Explanation) -> Iterator[Text]:
    """Yield the lines of *found*: every event below what led to it, from the origins on."""
    events = {e.position: e for e in (*found.before, found.event, *found.after)}
    below: dict[int, list[CausedEvent]] = {}
    for event in events.values():
        for parent in event.follows:
            below.setdefault(parent, []).append(event)
    for event in events.values():
        if events.keys().isdisjoint(event.follows):
            yield styled("[bold]{}[/]", cause_in_words(event.caused_by))
            yield from _branch(event, events, below, found.event.position, "")


def _branch(
    event: CausedEvent,
    events: Mapping[int, CausedEvent],
    below: Mapping[int, Sequence[CausedEvent]],
    asked: int,
    indent: str,
) -> Iterator[Text]:
    is_asked = event.position == asked
    yield styled(
        "{} {}{} [bold]{}[/]  [dim]{}[/]" if is_asked else "{} {}{} {}  [dim]{}[/]",
        ">" if is_asked else " ",
        indent,
        event.position,
        f"{_name(event)} {_says(event)}".rstrip(),
        ", ".join(filter(None, (_milliseconds(event), _led_by(event)))),
    )
    for each in below.get(event.position, ()):
        if next(p for p in each.follows if p in events) == event.position:
            yield from _branch(each, events, below, asked, indent + "  ")
        else:
            yield styled("  {}  [dim]{} {}: see there[/]", indent, each.position, _name(each))


def _name(event: CausedEvent) -> str:
    return event.topic.rpartition(".v")[0]


def _milliseconds(event: CausedEvent) -> str:
    return event.said.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _says(event: CausedEvent) -> str:
    said = event.said
    words = (
        said.search or (said.lookup if event.topic.startswith("brand.lookup-") else ""),
        said.stage,
        said.item or said.mail_domain,
        said.checked.person if said.checked else "",
        f"attempt {said.attempt}" if said.attempt is not None else "",
        said.why,
        said.outcome,
        f"{said.verified} verified" if said.verified else "",
        "" if said.charged is None else "charged" if said.charged else "not charged",
        "reused" if said.cached else "",
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
