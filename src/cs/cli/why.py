"""``cs events why``: what an event came of, back to its origin, and what came of it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, assert_never

from cyclopts import Parameter
from rich.text import Text

from cs.assembly.operator_command import open_command_context
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, stop, styled
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.history.caused_event import CausedEvent, as_told
from cs.history.explaining import Explainer, Explanation
from cs.settings import Settings


def why(
    position: Annotated[int, Parameter(help="Where the event stands in the log, from 1.")],
    /,
    *,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show what an event came of, back to the call or command, and all that came of it.

    Each line is an event under the one that led to it, the one asked for marked with >.
    A search is settled, and charged, because its run finished, and is shown under both.
    Events that an older version stored have no cause: it is inferred then, which is said.

    Example: `cs events why 17`
    """
    found = asyncio.run(_explain(settings(config, data_dir=data_dir), position))
    if found is None:
        stop(f"there is no event at position {position}")
    if json:
        print_json(
            {
                "event": as_told(found.event),
                "before": [as_told(each) for each in found.before],
                "after": [as_told(each) for each in found.after],
            }
        )
        return
    for line in _tree(found):
        console.print(line)


async def _explain(chosen: Settings, position: int) -> Explanation | None:
    async with open_command_context(chosen) as data:
        with Progress() as progress:

            def show_progress(read: int, upto: int) -> None:
                progress.show(f"{read} of {upto} positions read")

            return await Explainer(data.log, show_progress).explain(position)


def _tree(found: Explanation) -> Iterator[Text]:
    """Yield the lines of *found*: every event below what led to it, from the origins on."""
    events = {e.position: e for e in (*found.before, found.event, *found.after)}
    below: dict[int, list[CausedEvent]] = {}
    for event in events.values():
        for parent in event.follows:
            if parent in events:
                below.setdefault(parent, []).append(event)
    for event in events.values():
        if not any(parent in events for parent in event.follows):
            yield styled("[bold]{}[/]", describe(event.caused_by, inferred=event.inferred))
            yield from _branch(event, events, below, found.event.position, "")


def _branch(
    event: CausedEvent,
    events: Mapping[int, CausedEvent],
    below: Mapping[int, Sequence[CausedEvent]],
    asked: int,
    indent: str,
) -> Iterator[Text]:
    yield _line(event, asked, indent)
    for each in below.get(event.position, ()):
        if next(p for p in each.follows if p in events) == event.position:
            yield from _branch(each, events, below, asked, indent + "  ")
        else:
            yield styled("  {}  [dim]{} {}: see there[/]", indent, each.position, _name(each))


def _line(event: CausedEvent, asked: int, indent: str) -> Text:
    mark = ">" if event.position == asked else " "
    by = _led_by(event)
    told = f"{_name(event)} {_says(event)}".rstrip()
    line = styled("{} {}{} ", mark, indent, event.position)
    line.append_text(styled("[bold]{}[/]" if event.position == asked else "{}", told))
    at = event.said.at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line.append_text(styled("  [dim]{}{}[/]", at, by and f", {by}"))
    return line


def _name(event: CausedEvent) -> str:
    return event.topic.rpartition(".v")[0]


def _says(event: CausedEvent) -> str:
    said = event.said
    words = [
        said.stage or "",
        said.item or said.mail_domain or "",
        said.checked.person if said.checked else "",
        f"attempt {said.attempt}" if said.attempt is not None else "",
        said.why or "",
        said.outcome or "",
        f"{said.verified} verified" if said.verified else "",
        "" if said.charged is None else "charged" if said.charged else "not charged",
        "reused" if said.cached else "",
    ]
    named = said.search or (said.lookup if event.topic.startswith("brand.lookup-") else "")
    return ", ".join(word for word in (named or "", *words) if word)


def _led_by(event: CausedEvent) -> str:
    """Return what of its cause the tree does not show."""
    inferred = "inferred" if event.inferred else ""
    match event.caused_by:
        case MessageCause(id=id_):
            return f"answer {id_.rpartition('/')[2]}"
        case TimerCause() | StartCause() | OperatorCause() if event.follows:
            return describe(event.caused_by, inferred=event.inferred)
        case _:
            return inferred


def describe(cause: AnyCause | None, *, inferred: bool) -> str:
    """Return *cause* in words."""
    match cause:
        case RequestCause(id=id_, key=key):
            words = f"request {id_} with {key}"
        case MessageCause(id=id_, topic=topic):
            words = f"message {id_} on {topic}"
        case TimerCause(timer=timer):
            words = _TIMERS[timer]
        case OperatorCause(command=command, who=who):
            words = f"{who or 'an operator'}: cs {command}"
        case EventCause(position=position):
            words = f"event {position}"
        case StartCause():
            words = "a process started"
        case None:
            return "no cause is known"
        case _:
            assert_never(cause)
    return f"{words} (inferred)" if inferred else words


_TIMERS = {
    "deadline": "the deadline passed",
    "retry": "a retry was due",
    "silence": "the stage was silent",
    "ageing": "nobody was shown these people for long",
    "mended": "a damaged stream can be read again",
}
