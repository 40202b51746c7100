"""A year of history, made in under a minute: ``cs demo --history``.

The whole service runs in its sandbox world, from chapter to chapter of the made-up year
(`cs.sandbox.year`), on a clock that is moved from one thing to the next.  Nothing is written
by hand: every event is what the service made of a call, an answer or an operator's command.
"""

import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import msgspec
from msgspec.structs import replace

from cs.admin.sandbox_clock import PATIENT, SandboxClock
from cs.assembly.folder import erase_paid_calls, open_folder
from cs.assembly.plugins import StagePlugins
from cs.assembly.process_manager import reached_end
from cs.cli.sandbox_service import SandboxService, sandbox_service
from cs.domain.contact import LeftOut, Query
from cs.domain.stages.work import AnyFinding, RankingDone, StageName, Work
from cs.eventlog.fingerprints import email_print
from cs.operations.erasure import Erasure
from cs.operations.operator import NewSecret, Operator
from cs.pipeline.ranking import Ranking
from cs.plugins.stages import Report
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.runtime.private_files import temporary_folder
from cs.sandbox.shapes import World
from cs.sandbox.year import BEGINS, PAID, UPDATE, WEEK, WEEKS, Chapter, worlds

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

#: Called with the weeks that are over, and a description of the current chapter.
Progress = Callable[[int, str], None]


async def make_year(folder: Path, progress: Progress) -> None:
    """Write the year's log, keys and views into the data folder *folder*.

    It appears when it is whole.

    Raises:
        CannotListen: This machine lacks the loopback addresses that the world needs.
        OSError: *folder* is there already, or its parent is not.
    """
    with _next_to(folder) as work:
        year = _Year(work, progress)
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

    def __init__(self, folder: Path, progress: Progress) -> None:
        async def nowhere(_ahead: timedelta) -> None:
            """Keep no offset: the finished year is read by the machine's own time."""

        real = SystemClock()
        self._folder = folder
        self._clock = SandboxClock(BEGINS - real.now(), nowhere, real)
        self._progress = progress
        self.keys: dict[str, NewSecret] = {}
        self._random = random.Random(_SEED)  # noqa: S311  a made-up world, the same every time

    async def live(self, chapter: Chapter, world: World, end: int) -> None:
        """Live through *chapter*, to the beginning of the week *end*."""
        async with sandbox_service(
            world,
            folder=self._folder,
            clock=self._clock,
            around=_with_older_ranking if chapter.week < UPDATE else lambda tools: tools,
            providers=chapter.week >= PAID,
        ) as self.sandbox:
            self.operator = Operator(self.sandbox.service.streams, self._clock, OPERATOR)
            advancer = self.sandbox.clock_advancer
            advancer.pace = PATIENT  # the same year on a slow machine
            for week in range(chapter.week, end):
                self._progress(week, chapter.what)
                for at, act in sorted(self._week(week, world), key=lambda each: each[0]):
                    await advancer.advance(max(at - self._clock.now(), timedelta()))
                    await act(self)
            await advancer.advance(BEGINS + end * WEEK - self._clock.now())
        self._progress(end, chapter.what)

    def _week(self, week: int, world: World) -> Iterator[tuple[datetime, _Act]]:
        """Yield what happens in *week*, in any order."""
        monday = BEGINS + week * WEEK
        for when, hours, act in ACTS:
            if when == week:
                yield monday + timedelta(hours=hours), act
        for customer in CUSTOMERS:
            if customer.first == week:
                yield monday + timedelta(hours=8), partial(_Year.issue, customer=customer)
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
                at = monday + timedelta(days=day, hours=9, minutes=minute)
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
        async with open_folder(DataFolder(settings.data_dir)) as data:
            erasure = Erasure(
                service.streams,
                data.keys,
                self._clock,
                reached_end(data.log, service.views),
                forget_calls=partial(erase_paid_calls, settings),
                by=OPERATOR,
            )
            await erasure.erase(email_print(data.keys, email))


def _with_older_ranking(tools: StagePlugins) -> StagePlugins:
    return replace(tools, stages=(_OlderRanking(),))


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
