"""``cs demo``: the whole service once, in front of your eyes."""

import asyncio
import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import httpx
import msgspec
from cyclopts import Parameter
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cs.cli.options import Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.progress import Progress
from cs.cli.record_view import print_record
from cs.cli.sandbox_service import SandboxService, sandbox_service
from cs.client.api import TIMEOUT_S
from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
)
from cs.domain.names.brand_names import clean_brand
from cs.domain.stages.table import STAGES, closed_work
from cs.domain.stages.work import StageName
from cs.eventlog.follow import follow
from cs.eventlog.port import EventLog
from cs.http_server.errors import CannotListen
from cs.runtime import event_loop, logs
from cs.sandbox.world import listing, load
from cs.sandbox.year import BEGINS, CHAPTERS, WEEK, WEEKS

#: Searched unless told otherwise: several people, several verified.
BRAND = "Veltrana"
#: Folder of the year of history unless told otherwise.
HISTORY = "cs-history"


def demo(
    brand: Annotated[str, Parameter(help="A brand of the sandbox world.")] = BRAND,
    /,
    *,
    keep: Annotated[bool, Parameter(negative="", help="Leave the service running.")] = False,
    providers: Annotated[
        bool, Parameter(negative="", help="Play providers with a key, too; show their bill.")
    ] = False,
    history: Annotated[
        bool, Parameter(negative="", help="Make a year of history instead, and leave it.")
    ] = False,
    data_dir: Annotated[
        Path | None,
        Parameter(help=f"With --history: folder to make it in; else {HISTORY}."),
    ] = None,
    json: Json = False,
) -> None:
    """Start the service with its sandbox world, search one brand, show the people found.

    Everything is real but the world: HTTP, DNS and SMTP on this machine, an event log on
    disk, four stages behind topics. It takes a few seconds and leaves nothing behind.

    Other brands to try: `cs sandbox list`.

    With --providers the world also plays Brave, Serper, Hunter, People Data Labs, Apollo and
    six verifiers, for play money: free sources are asked first, and the bill is shown.

    With --history it lives through a year of that world in under a minute, with four
    customers, job changes and a bad week, and leaves its data for `cs events`, `cs report`
    and the other commands that answer questions (docs/analysts.md).

    Example: `cs demo Miruvane --keep` leaves it running and prints a curl line to try.

    Example: `cs demo Brontello --providers` shows what the search cost there.

    Example: `cs demo --history`, then `cs report --data-dir cs-history`.
    """
    logs.configure("error", "console")
    if history:
        _make_history(data_dir or Path(HISTORY), json=json)
        return
    if data_dir is not None or json:
        stop("--data-dir and --json go with --history", 2)
    event_loop.run(_demo(clean_brand(brand), keep=keep, providers=providers))


def _make_history(folder: Path, *, json: bool) -> None:
    from cs.cli.demo_year import make_year  # noqa: PLC0415  the usual demo starts sooner

    if folder.exists():
        stop(f"{folder} is there already; remove it, or name another with --data-dir", 2)
    began = time.monotonic()
    with Progress() as line:

        def show(week: int, what: str) -> None:
            line.show(f"week {week} of {WEEKS}: {what}")

        try:
            make_year(folder, show)
        except (CannotListen, OSError) as error:
            stop(f"the year could not be made: {error}")
    took = time.monotonic() - began
    if json:
        print_json({"data_dir": str(folder), "seconds": round(took, 1)})
        return
    told = "\n".join(f"  week {each.week:>2}  {each.what}" for each in CHAPTERS)
    console.print(
        f"A year of history, {BEGINS:%Y-%m-%d} to {BEGINS + WEEKS * WEEK:%Y-%m-%d}, "
        f"made in {took:.0f} s in {folder}:\n\n{told}\n\n"
        f"Ask it, for example:\n\n"
        f"  cs keys list --data-dir {folder}\n"
        f"  cs events export --brand Veltrana --data-dir {folder} --out veltrana.ndjson\n\n"
        "docs/questions.md has fifteen questions, each with its answer."
    )


async def _demo(brand: str, *, keep: bool, providers: bool) -> None:
    began = time.monotonic()
    world = load(None)
    async with sandbox_service(world, port=0, providers=providers) as sandbox:
        took = time.monotonic() - began
        console.print(
            f"Service and sandbox world ({len(listing(world))} things to search) started "
            f"in {took:.1f} s.\n{sandbox.base_url}\n"
        )
        key = (await sandbox.operator.create_key("demo", 100)).key
        async with httpx.AsyncClient(
            base_url=sandbox.base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
            trust_env=False,  # a proxy for the outside has no part in this
        ) as client:
            record = await _with_progress(sandbox, _search(client, brand))
            print_record(record)
            if record["status"] == "done":
                await _again(client, brand)
            if sandbox.providers_url is not None:
                answer = await client.get(f"{sandbox.providers_url}/bill")
                _show_bill(answer.raise_for_status().json())
        if keep:
            await _keep(sandbox, key, brand)


async def _search(client: httpx.AsyncClient, brand: str) -> dict[str, Any]:
    answer = await client.post("/contacts", json={"brand": brand, "wait": True})
    record: dict[str, Any] = answer.raise_for_status().json()
    while record["status"] == "running":
        await asyncio.sleep(1)
        answer = await client.get(f"/searches/{record['id']}")
        record = answer.raise_for_status().json()
    return record


async def _again(client: httpx.AsyncClient, brand: str) -> None:
    began = time.monotonic()
    again = await _search(client, brand)
    ms = (time.monotonic() - began) * 1000
    paid = "charged again" if again["charged"] else "not charged"
    console.print(f"\nThe same search again: answered from reuse in {ms:.0f} ms, {paid}.")


def _show_bill(bill: dict[str, Any]) -> None:
    console.print("\nWhat the played providers were asked, and what they charge for it:")
    print_table(
        ("Provider", "Calls", "Charged", "US$"),
        [
            (
                line,
                str(each["calls"]),
                f"{each['units']} × {each['unit']}",
                f"{each['usd']:.3f}",
            )
            for line, each in bill["lines"].items()
        ],
        folds=["Charged"],
    )
    console.print(f"Together ${bill['usd']:.3f}.")


async def _with_progress(sandbox: SandboxService, search: Any) -> dict[str, Any]:
    """Run *search* beside a picture of what the event log says about it."""
    progress = StageProgress()
    with Live(progress.picture(), console=console, refresh_per_second=10) as live:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(_watch(sandbox.service.streams.log, progress, live))
            record: dict[str, Any] = await search
            await asyncio.wait([watching], timeout=1)
            watching.cancel()
    console.print()
    return record


async def _watch(log: EventLog, progress: "StageProgress", live: Live) -> None:
    async for page in follow(log, 0):
        for recorded in page:
            progress.note(recorded.event)
            live.update(progress.picture())
            if isinstance(recorded.event, LookupFinished):
                return


class StageProgress:
    """What is known of each stage so far, from the events of one lookup."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._done: dict[StageName, tuple[float, str]] = {}
        self._people = self._verified = self._not_verified = 0

    def note(self, event: object) -> None:
        match event:
            case BrandResolved(status=status, brand=brand):
                which = brand.domain or brand.name if brand else status
                self._end("brand-resolution", which)
            case PeopleFound(people=people):
                self._people += len(people)
            case ContactsDiscovered(people=people):
                self._end("contact-discovery", f"{self._people + len(people)} people")
            case ContactsRanked(ranked=ranked, left_out=left_out):
                self._end("ranking", f"{len(ranked)} in a role, {len(left_out)} left out")
            case MailboxVerified():
                self._verified += 1
            case MailboxNotVerified():
                self._not_verified += 1
            case MailDomainChecked():
                pass  # others may be open: the end of the lookup ends verification
            case LookupFinished(outcome=outcome) if "ranking" in self._done:
                self._end("verification", f"{self._mailboxes()}: {outcome}")
            case _:
                closed = closed_work(event)
                if closed is not None:
                    self._end(closed.stage, "done")

    def picture(self) -> Table:
        table = Table.grid(padding=(0, 2))
        current = next((stage for stage in STAGES if stage not in self._done), None)
        for stage in STAGES:
            shown = stage.replace("-", " ")
            if stage in self._done:
                at, what = self._done[stage]
                table.add_row(Text("✓", "green"), shown, what, Text(f"{at:.2f} s", "dim"))
            elif stage == current:
                what = self._mailboxes() if stage == "verification" else "..."
                table.add_row(Text("•", "yellow"), shown, what, "")
            else:
                table.add_row(" ", Text(shown, "dim"), "", "")
        return table

    def _end(self, stage: StageName, what: str) -> None:
        self._done[stage] = (time.monotonic() - self._began, what)

    def _mailboxes(self) -> str:
        return f"{self._verified} verified, {self._not_verified} not"


async def _keep(sandbox: SandboxService, key: str, brand: str) -> None:
    body = msgspec.json.encode({"brand": brand, "wait": True}).decode()
    console.print(
        "\nLeft running; Ctrl-C ends it and leaves nothing behind. Try:\n\n"
        f"curl -s {sandbox.base_url}/contacts -H 'Authorization: Bearer {key}' \\\n"
        f"  -H 'Content-Type: application/json' -d {shlex.quote(body)}\n"
    )
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:  # Ctrl-C is how this is meant to end
        asked = asyncio.current_task()
        assert asked is not None, "runs in a task"
        asked.uncancel()
