"""``cs demo``: the whole service once, or a year of its history."""

import asyncio
import os
import random
import time
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import httpx
import msgspec
from cyclopts import Parameter
from rich.text import Text

from cs.admin.sandbox_clock import PATIENT, SandboxClock
from cs.assembly.folder import open_folder, paid_call_register
from cs.assembly.process_manager import reached_end
from cs.cli.command import Invocation, Output, command
from cs.cli.output import Progress, stop, styled
from cs.cli.sandbox import SandboxService, sandbox_service
from cs.cli.search import record_lines
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
from cs.domain.contact import LeftOut, Query
from cs.domain.names.brand_names import clean_brand
from cs.domain.stages.work import AnyFinding, RankingDone, StageName, Work
from cs.eventlog.fingerprints import email_print
from cs.eventlog.follow import follow
from cs.eventlog.port import EventLog
from cs.http_server.errors import CannotListen
from cs.http_server.serving import on_signal
from cs.operations.erasure import Erasure
from cs.operations.operator import NewSecret, Operator
from cs.pipeline.ranking import Ranking
from cs.plugins.stages import Report
from cs.runtime import logs
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.runtime.private_files import temporary_folder
from cs.sandbox.shapes import World
from cs.sandbox.world import listing, load
from cs.sandbox.year import BEGINS, CHAPTERS, PAID, UPDATE, WEEK, WEEKS, Chapter, worlds

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
        bool, Parameter(help="Make a year of history instead, and leave it.")
    ] = False,
    stay: Annotated[
        bool,
        Parameter(name="--open", help="Open the console in a browser, and stay until Ctrl-C."),
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

    `cs serve --sandbox` runs the same service until Ctrl-C; so does --open, which shows
    its console, with --history that of the year, which then ends today: otherwise it is
    the one of docs/analysts.md, from 2025-11-03 on.

    Example: `cs demo Miruvane`, or `cs demo --history`, then
    `cs report --data-dir cs-history`.
    """
    logs.configure("error", "console")
    if history:
        folder = _new(at.data_dir or Path(HISTORY))
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        yield await _make_year(folder, today - WEEKS * WEEK if stay else BEGINS)
        if stay:
            *_, (_, latest) = worlds()
            async with sandbox_service(latest, data_dir=folder.absolute()) as sandbox:
                yield _shown(sandbox.console_url)
                await _until_ended()
        return
    if at.data_dir is not None:
        stop("--data-dir goes with --history", 2)
    name, world, began = clean_brand(brand), load(None), time.monotonic()
    async with sandbox_service(world) as sandbox:
        started = f"started in {time.monotonic() - began:.1f} s"
        count = len(listing(world))
        said = f"Service and sandbox world ({count} things to search) {started}."
        where = f"{sandbox.base_url}\nconsole: {sandbox.console_url}"
        yield Output(text=[f"{said}\n{where}\n"])
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
        if stay:
            yield _shown(sandbox.console_url)
            await _until_ended()


def _shown(url: str) -> Output:
    """Open the console at *url* where there is a desktop, and name it."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)
    said = f"\nThe console: {url}\nCtrl-C ends it."
    return Output([{"console": url}], [said])


async def _until_ended() -> None:
    """Return at Ctrl-C or SIGTERM."""
    ending = asyncio.Event()
    with on_signal(ending.set):
        await ending.wait()


def _new(folder: Path) -> Path:
    if folder.exists():
        stop(f"{folder} is there already; remove it, or name another with --data-dir", 2)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    return folder


async def _make_year(folder: Path, begins: datetime) -> Output:
    began = time.monotonic()
    with Progress() as line:
        try:
            await make_year(folder, line, begins)
        except (CannotListen, OSError) as error:
            stop(f"the year could not be made: {error}")
    took = time.monotonic() - began
    return Output(
        [{"data_dir": str(folder), "seconds": round(took, 1)}],
        [
            f"A year of history from {begins:%Y-%m-%d} on, made in {took:.0f} s in {folder}:\n",
            *(f"  week {each.week:>2}  {each.what}" for each in CHAPTERS),
            "\nAsk it, for example:\n",
            f"  cs keys list --data-dir {folder}",
            f"  cs events export --brand Veltrana --data-dir {folder} --out veltrana.ndjson",
            f"  cs serve --sandbox --data-dir {folder}  # with its console\n",
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


#: The account that acts as the operator.
OPERATOR = "dana"
#: The ranking rules before the update (`cs.domain.rule_sets`).
OLDER_RULES = "ranking-0"
#: Seed of the order in which customers search, and of their brands.
_SEED = 2026


class Customer(msgspec.Struct, frozen=True):
    """A customer with a key.

    Attributes:
        label: Of the key.
        quota: Searches it is issued with.
        a_week: Searches asked for in a week.
        first, last: Weeks in which they ask, from 0.
        domains: Whether brands are named by their web domain, too.
    """

    label: str
    quota: int
    a_week: int
    first: int = 0
    last: int = WEEKS
    domains: bool = False


CUSTOMERS = (
    Customer("Aster Agency", 150, 4),
    Customer("Brightside Talent", 50, 2, first=3),
    Customer("in-house CRM", 500, 5, domains=True),
    Customer("Cobalt (trial)", 12, 2, first=21, last=34),
)


#: Something that a customer or the operator does.
_Act = Callable[["_Year"], Awaitable[object]]

#: Acts of the operator: week, hours into it, and the act.
ACTS: Sequence[tuple[int, float, _Act]] = (
    (18, 34.0, lambda year: year.operator.forget_brand(Query(brand="Ivorene"))),
    (19, 58.0, lambda year: year.operator.pause()),
    (19, 64.0, lambda year: year.operator.resume()),
    (26, 10.0, lambda year: year.operator.grant_quota(year.keys["Aster Agency"].id, 100)),
    (30, 11.0, lambda year: year.operator.grant_quota(year.keys["Brightside Talent"].id, 60)),
    (32, 33.0, lambda year: year.rotate("in-house CRM")),
    (34, 110.0, lambda year: year.operator.revoke_key(year.keys["Cobalt (trial)"].id)),
    (36, 36.0, lambda year: year.erase("priya.raman@veltrana.test")),
    (44, 57.0, lambda year: year.erase("mateo@kivandra.test")),
)


async def make_year(folder: Path, progress: Progress, begins: datetime = BEGINS) -> None:
    """Write a year of history into the new folder *folder*, which appears when it is whole.

    It is the year from *begins* on, a midnight.

    The service runs in its sandbox world, from chapter to chapter of the made-up year
    (`cs.sandbox.year`), on a clock that is moved from one thing to the next.  Every event is
    what the service made of a call, an answer or an operator's command.

    Raises:
        CannotListen: This machine lacks the loopback addresses that the world needs.
        OSError: *folder* is there already, or its parent is not.
    """
    with _next_to(folder) as work:
        year = _Year(work, progress, begins)
        chapters = list(worlds())
        ends = [chapter.week for chapter, _ in chapters[1:]] + [WEEKS]
        for (chapter, world), end in zip(chapters, ends, strict=True):
            await year.live(chapter, world, end)
        (work / "data").rename(folder)


def _next_to(folder: Path) -> AbstractContextManager[Path]:
    return temporary_folder(folder.absolute().parent, f".{folder.name}-")


class _Year:
    """The service, its customers and its operator, chapter after chapter."""

    sandbox: SandboxService  # of the chapter
    operator: Operator

    def __init__(self, folder: Path, progress: Progress, begins: datetime) -> None:
        async def nowhere(_ahead: timedelta) -> None:
            """Keep no offset: the finished year is read by the machine's own time."""

        real = SystemClock()
        self._folder = folder
        self._begins = begins
        self._clock = SandboxClock(begins - real.now(), nowhere, real)
        self._progress = progress
        self.keys: dict[str, NewSecret] = {}
        self._random = random.Random(_SEED)  # noqa: S311  a made-up world, the same every time

    async def live(self, chapter: Chapter, world: World, end: int) -> None:
        async with sandbox_service(
            world,
            folder=self._folder,
            clock=self._clock,
            stages=(_OlderRanking(),) if chapter.week < UPDATE else (),
            providers=chapter.week >= PAID,
        ) as self.sandbox:
            self.operator = Operator(self.sandbox.service.streams, self._clock, OPERATOR)
            advancer = self.sandbox.clock_advancer
            advancer.pace = PATIENT  # the same year on a slow machine
            for week in range(chapter.week, end):
                self._progress.show(f"week {week} of {WEEKS}: {chapter.what}")
                for at, act in sorted(self._week(week, world), key=lambda each: each[0]):
                    await advancer.advance(max(at - self._clock.now(), timedelta()))
                    await act(self)
            await advancer.advance(self._begins + end * WEEK - self._clock.now())

    def _week(self, week: int, world: World) -> Iterator[tuple[datetime, _Act]]:
        """Yield what happens in *week*, in any order."""
        begins = self._begins + week * WEEK
        for when, hours, act in ACTS:
            if when == week:
                yield begins + timedelta(hours=hours), act
        for customer in CUSTOMERS:
            if customer.first == week:
                yield begins + timedelta(hours=8), partial(_Year.issue, customer=customer)
        for customer in CUSTOMERS:
            searches = customer.a_week if customer.first <= week <= customer.last else 0
            for _ in range(searches):
                day, minute = self._random.randrange(5), self._random.randrange(9 * 60)
                # The first brands of the world are asked for most.
                n = min(int(self._random.expovariate(0.16)), len(world.brands) - 1)
                brand = world.brands[n]
                call = {"brand": brand.name}
                if customer.domains:
                    call["domain"] = brand.domain
                at = begins + timedelta(days=day, hours=9, minutes=minute)
                yield at, partial(_Year.search, label=customer.label, call=call)

    async def search(self, label: str, call: dict[str, str]) -> None:
        app = httpx.ASGITransport(self.sandbox.service.app)
        async with httpx.AsyncClient(transport=app, base_url="http://demo/v1") as client:
            headers = {"Authorization": f"Bearer {self.keys[label].key}"}
            answer = await client.post("/contacts", json=call, headers=headers)
        # Refused: no quota is left, the service is paused, the key is revoked.
        assert answer.status_code in {200, 202, 401, 402, 403, 429, 503}, answer.text

    async def issue(self, customer: Customer) -> None:
        self.keys[customer.label] = await self.operator.create_key(
            customer.label, customer.quota
        )

    async def rotate(self, label: str) -> None:
        self.keys[label] = await self.operator.rotate_key(self.keys[label].id)

    async def erase(self, email: str) -> None:
        settings, service = self.sandbox.settings, self.sandbox.service
        async with (
            open_folder(DataFolder(settings.data_dir)) as data,
            paid_call_register(settings) as calls,
        ):
            erasure = Erasure(
                service.streams,
                data.keys,
                self._clock,
                reached_end(data.log, service.views),
                forget_calls=calls.erase,
                by=OPERATOR,
            )
            await erasure.erase(email_print(data.keys, email))


class _OlderRanking:
    """Ranks as the service did before its update: brand marketing was not a role."""

    name: StageName = "ranking"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        done = await Ranking().handle(work, report)
        assert isinstance(done, RankingDone)
        unknown = tuple(
            LeftOut(each.person, "not-eligible")
            for each in done.ranked
            if each.family == "brand"
        )
        known = tuple(each for each in done.ranked if each.family != "brand")
        return RankingDone(ranked=known, left_out=(*done.left_out, *unknown), rules=OLDER_RULES)
