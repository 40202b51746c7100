"""``cs log``: is the event log one that the rules could have written?"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.keys import said
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, errors, print_json, print_table, stop, styled
from cs.cli.settings_in_force import settings
from cs.domain.operator_actions import OperatorAct, act_of
from cs.eventlog.audit import Audit, Violation
from cs.eventlog.damage import read_past
from cs.eventlog.errors import NewerEvent
from cs.eventlog.port import EventLog, RecordedEvent
from cs.keystore.lost import LostValue, Why
from cs.projections.searches import instant
from cs.settings import Settings

app = App(
    name="log",
    help="The event log: everything that ever happened.\n\n"
    "Works on the data folder, beside a running service or without one.",
)

#: Acts of operators shown at most.
MOST_ACTS = 100_000
#: How often progress is shown, seconds.
TELL_EVERY_S = 1.0


class LogVerification(msgspec.Struct, frozen=True):
    """What was read, and what is wrong with it."""

    events: int
    unfinished: int
    views_at: int
    violations: int


@app.command
def trail(
    *,
    last: Annotated[int, Parameter(help="The newest so many.")] = 100,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show what operators did, and who: keys, quota, pauses, brands, people erased or opened.

    Who is the account that ran the command, or what the setting `operator` said. Reads the
    whole log. A person is a hash that says nothing about who it is.

    Example: `cs log trail --last 20`
    """
    if not 1 <= last <= MOST_ACTS:
        stop(f"--last: a whole number from 1 to {MOST_ACTS}, not {last}", 2)
    acts = asyncio.run(_acts(settings(config, data_dir=data_dir), last))
    if json:
        for act in acts:
            print_json(act)
        return
    rows = [(instant(act.at), act.by or "?", said(act), act.of) for act in acts]
    print_table(("At", "By", "What", "Of"), rows, folds=["Of"])


async def _acts(chosen: Settings, last: int) -> Sequence[OperatorAct]:
    """Return the newest *last* acts of operators, oldest first."""
    acts: deque[OperatorAct] = deque(maxlen=last)
    async with open_command_context(chosen) as data:
        head = await data.log.head()
        async for recorded in _with_progress(_events(data.log, head), head):
            act = act_of(recorded.stream, recorded.event)
            if act is not None:
                acts.append(act)
    return acts


@app.command
def verify(
    *,
    at_rest: Annotated[
        bool,
        Parameter(
            negative="", help="Nothing runs: every search of an ended lookup is settled."
        ),
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Read the whole log and hold it to every promise: no charge twice, no limit exceeded.

    Also checks that the views are not ahead of the log, and that no data key of a person in
    it is lost. Prints each violation, then counts.
    Exit code 1 if there is any. What is appended meanwhile is left for the next time.

    Example: `cs log verify --json`, one line a violation and one of counts
    """
    verified = asyncio.run(_verify(settings(config, data_dir=data_dir), at_rest, json=json))
    if json:
        print_json(verified)
    else:
        console.print(
            f"{verified.events} events, {verified.unfinished} searches not settled, "
            f"views at {verified.views_at}: {verified.violations or 'no'} violations"
        )
    if verified.violations:
        raise SystemExit(1)


async def _verify(chosen: Settings, at_rest: bool, *, json: bool) -> LogVerification:
    audit = Audit()
    violations = 0

    def broken(found: Violation) -> None:
        nonlocal violations
        violations += 1
        if json:
            print_json(found)
        else:
            console.print(
                styled(
                    "[red]{}[/] {} {} at {}",
                    found.kind,
                    found.stream,
                    found.what,
                    found.position,
                )
            )

    async with open_command_context(chosen) as data:
        # The views first: the log only grows, so what they show must be in it by then.
        views_at = await data.views.position()
        head = await data.log.head()
        if views_at > head:
            what = f"they show position {views_at}, the log ends at {head}"
            broken(Violation("position", views_at, "views", what))
        whole, lost = True, dict[LostValue, None]()
        try:
            with data.keys.lost.listening(lost.setdefault):
                async for recorded in _with_progress(_events(data.log, head), head):
                    for found in audit.check(recorded):
                        broken(found)
        except NewerEvent as newer:
            whole = False
            what = f"{newer.topic} is of a newer version; what comes after is not checked"
            broken(Violation("newer", newer.position, newer.stream, what))
        for found in _lost(lost):
            broken(found)
        if whole and audit.events != head:
            what = f"{audit.events} events up to position {head}"
            broken(Violation("position", head, "log", what))
    if at_rest and whole:
        for found in audit.end():
            broken(found)
    return LogVerification(audit.events, audit.unfinished, views_at, violations)


_WHY_LOST: Mapping[Why, str] = {
    "missing": "the key store has no key of that name, and never destroyed one",
    "another": "the key store has another key of that name",
    "unnamed": "another key of that name, or damaged: sealed before values named their key",
}


def _lost(values: Iterable[LostValue]) -> Iterator[Violation]:
    """Yield for each event, person and reason that a data key is lost."""
    for value in values:
        what = f"{value.name} reads as erased: {_WHY_LOST[value.why]}"
        yield Violation("key-lost", value.position, value.stream, what)


async def _events(log: EventLog, head: int) -> AsyncIterator[RecordedEvent]:
    """Yield the events up to position *head*."""
    position = 0
    while position < head:
        page = await read_past(log, position)
        if not page:
            return
        for recorded in page:
            if recorded.position <= head:
                yield recorded
        position = page[-1].position


async def _with_progress(
    events: AsyncIterator[RecordedEvent], head: int
) -> AsyncIterator[RecordedEvent]:
    """Yield *events*, telling now and then how far it is."""
    told_at = time.monotonic()
    async for recorded in events:
        yield recorded
        if time.monotonic() - told_at >= TELL_EVERY_S:
            told_at = time.monotonic()
            errors.print(styled("[dim]{} of {} events[/]", recorded.position, head))
