"""``cs demo``: the whole service once, in front of your eyes."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from cs.cli.command import Invocation, Output, command
from cs.cli.output import stop, styled
from cs.cli.progress import Progress
from cs.cli.sandbox_service import sandbox_service
from cs.cli.search_record import record_lines
from cs.client import AsyncClient, Done
from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
    PeopleFound,
)
from cs.domain.names.brand_names import clean_brand
from cs.eventlog.follow import follow
from cs.eventlog.port import EventLog
from cs.http_server.errors import CannotListen
from cs.runtime import logs
from cs.sandbox.world import listing, load
from cs.sandbox.year import BEGINS, CHAPTERS, WEEKS

#: Searched by default: several people, several verified.
BRAND = "Veltrana"
#: Default folder of the year of history.
HISTORY = "cs-history"


@command("json", "data_dir")
async def demo(
    at: Invocation,
    brand: Annotated[str, Parameter(help="A brand of the sandbox world.")] = BRAND,
    /,
    *,
    history: Annotated[
        bool, Parameter(negative="", help="Make a year of history instead, and leave it.")
    ] = False,
) -> AsyncIterator[Output]:
    """Start the service with its sandbox world, search one brand, show the people found.

    Everything is real but the world: HTTP, DNS and SMTP on this machine, an event log on
    disk, four stages behind topics. It takes a few seconds and leaves nothing behind.

    Other brands to try: Miruvane, Brontello, Kivandra, Marrowby.

    With --history it lives through a year of that world in under a minute, with four
    customers, job changes and a bad week, and leaves its data in --data-dir, else in
    cs-history, for `cs events`, `cs report` and the other commands that answer questions
    (docs/analysts.md).

    `cs serve --sandbox` runs the same service until Ctrl-C.

    Example: `cs demo Miruvane`, or `cs demo --history`, then
    `cs report --data-dir cs-history`.
    """
    logs.configure("error", "console")
    if history:
        yield await _made_year(_new(at.data_dir or Path(HISTORY)))
        return
    if at.data_dir is not None:
        stop("--data-dir goes with --history", 2)
    name, world, began = clean_brand(brand), load(None), time.monotonic()
    async with sandbox_service(world) as sandbox:
        started = f"started in {time.monotonic() - began:.1f} s"
        count = len(listing(world))
        said = f"Service and sandbox world ({count} things to search) {started}."
        yield Output(text=[f"{said}\n{sandbox.base_url}\n"])
        key = (await sandbox.operator.create_key("demo", 100)).key
        async with AsyncClient(sandbox.base_url, key) as client:
            search = asyncio.create_task(client.contacts.search(name))
            try:
                async for line in _stages(sandbox.service.streams.log):
                    yield Output(text=[line])
                found = await search
            finally:
                search.cancel()  # after Ctrl-C its connection ends, which is no error
            yield Output([found], record_lines(msgspec.to_builtins(found)))
            if isinstance(found, Done):
                began = time.monotonic()
                again = await client.contacts.search(name)
                ms = (time.monotonic() - began) * 1000
                paid = "charged again" if getattr(again, "charged", False) else "not charged"
                said = f"\nThe same search again: answered from reuse in {ms:.0f} ms, {paid}."
                yield Output([again], [said])


def _new(folder: Path) -> Path:
    if folder.exists():
        stop(f"{folder} is there already; remove it, or name another with --data-dir", 2)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    return folder


async def _made_year(folder: Path) -> Output:
    from cs.cli.demo_year import make_year  # noqa: PLC0415  the usual demo starts sooner

    began = time.monotonic()
    with Progress() as line:
        try:
            await make_year(
                folder, lambda week, what: line.show(f"week {week} of {WEEKS}: {what}")
            )
        except (CannotListen, OSError) as error:
            stop(f"the year could not be made: {error}")
    took = time.monotonic() - began
    return Output(
        [{"data_dir": str(folder), "seconds": round(took, 1)}],
        [
            f"A year of history from {BEGINS:%Y-%m-%d} on, made in {took:.0f} s in {folder}:\n",
            *(f"  week {each.week:>2}  {each.what}" for each in CHAPTERS),
            "\nAsk it, for example:\n",
            f"  cs keys list --data-dir {folder}",
            f"  cs events export --brand Veltrana --data-dir {folder} --out veltrana.ndjson\n",
            "docs/analysts.md has fifteen questions, each with its answer.",
        ],
    )


async def _stages(log: EventLog) -> AsyncIterator[Text]:
    """Yield a line as each stage of the one lookup in *log* ends, until it has ended."""
    began, counts = time.monotonic(), Counter[type]()
    async for page in follow(log, 0):
        for event in (recorded.event for recorded in page):
            counts[type(event)] += 1
            stage, what = "", ""
            match event:
                case PeopleFound(people=people):
                    counts[ContactsDiscovered] += len(people)
                case BrandResolved(status=status, brand=facts):
                    found = (facts.domain or facts.name) if facts else status
                    stage, what = "brand resolution", found
                case ContactsDiscovered(people=people):
                    count = counts[ContactsDiscovered] - 1 + len(people)
                    stage, what = "contact discovery", f"{count} people"
                case ContactsRanked(ranked=ranked, left_out=left_out):
                    said = f"{len(ranked)} in a role, {len(left_out)} left out"
                    stage, what = "ranking", said
                case LookupFinished(outcome=outcome) if counts[ContactsRanked]:
                    verified, other = counts[MailboxVerified], counts[MailboxNotVerified]
                    said = f"{verified} verified, {other} not: {outcome}"
                    stage, what = "verification", said
            if stage:
                line = "[green]✓[/]  {}  {}  [dim]{} s[/]"
                took = f"{time.monotonic() - began:.2f}"
                yield styled(line, f"{stage:<17}", f"{what:<25}", took)
            if isinstance(event, LookupFinished):
                return
