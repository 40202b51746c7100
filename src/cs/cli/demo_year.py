"""A year of history, made in under a minute: ``cs demo --history``.

The whole service runs in its sandbox world, from chapter to chapter of the made-up year
(`cs.sandbox.year`), on a clock that is moved from one thing to the next.  Nothing is written
by hand: every event is what the service made of a call, an answer or an operator's command.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
from msgspec.structs import replace

from cs.admin.sandbox_clock import PATIENT, SandboxClock
from cs.assembly.erasing import reached_end
from cs.assembly.folder_paid_calls import erase_paid_calls
from cs.assembly.folder_stores import open_folder
from cs.assembly.plugins import StagePlugins
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

#: Who acts as the operator.
OPERATOR = "dana"
#: What ranked before the update (`cs.domain.rule_sets`).
OLDER_RULES = "ranking-0"
#: Of the order in which customers ask, and for what.
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


class Act(msgspec.Struct, frozen=True):
    """Something that a customer or the operator does.

    Attributes:
        at: When.
        what: ``search``, or what the operator does.
        about: A customer's label, a brand or an e-mail.
        units: Of quota.
        call: The body of a customer's call.
    """

    at: datetime
    what: str
    about: str = ""
    units: int = 0
    call: dict[str, Any] | None = None


#: What the operator does: week, hours into it, what, about whom or what, units of quota.
ACTS = (
    (18, 34.0, "forget", "Ivorene", 0),
    (19, 58.0, "pause", "", 0),
    (19, 64.0, "resume", "", 0),
    (26, 10.0, "grant", "Aster Agency", 100),
    (30, 11.0, "grant", "Brightside Talent", 60),
    (32, 33.0, "rotate", "in-house CRM", 0),
    (34, 110.0, "revoke", "Cobalt (trial)", 0),
    (36, 36.0, "erase", "priya.raman@veltrana.test", 0),
    (44, 57.0, "erase", "mateo@kivandra.test", 0),
)

#: Called with the weeks that are over, and what happens now.
Progress = Callable[[int, str], None]


async def make_year(folder: Path, progress: Progress) -> None:
    """Write the year's log, keys and views into the data folder *folder*.

    It appears when it is whole.

    Raises:
        CannotListen: This machine lacks the loopback addresses that the world needs.
        OSError: *folder* is there already, or cannot be made.
    """
    with _work_folder(folder) as work:
        year = _Year(work, progress)
        chapters = list(worlds())
        ends = [chapter.week for chapter, _ in chapters[1:]] + [WEEKS]
        for (chapter, world), end in zip(chapters, ends, strict=True):
            await year.live(chapter, world, end)
        (work / "data").rename(folder)


@contextmanager
def _work_folder(folder: Path) -> Iterator[Path]:
    parent = folder.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(parent, f".{folder.name}-") as work:
        yield work


class _Year:
    """The service, its customers and its operator, chapter after chapter."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        async def nowhere(_ahead: timedelta) -> None:
            """Keep no offset: the finished year is read by the machine's own time."""

        real = SystemClock()
        self._folder = folder
        self._clock = SandboxClock(BEGINS - real.now(), nowhere, real)
        self._progress = progress
        self._keys: dict[str, NewSecret] = {}
        self._random = random.Random(_SEED)  # noqa: S311  a made-up world, the same every time

    async def live(self, chapter: Chapter, world: World, end: int) -> None:
        """Live through *chapter*, to the beginning of the week *end*."""
        async with (
            sandbox_service(
                world,
                folder=self._folder,
                clock=self._clock,
                around=_with_older_ranking if chapter.week < UPDATE else lambda tools: tools,
                providers=chapter.week >= PAID,
            ) as sandbox,
            httpx.AsyncClient(
                transport=httpx.ASGITransport(sandbox.service.app), base_url="http://demo/v1"
            ) as client,
        ):
            advancer = sandbox.clock_advancer
            advancer.pace = PATIENT  # the same year on a slow machine
            for week in range(chapter.week, end):
                self._progress(week, chapter.what)
                for act in sorted(self._week(week, world), key=lambda each: each.at):
                    await advancer.advance(max(act.at - self._clock.now(), timedelta()))
                    if act.call is not None:
                        await self._search(client, act.about, act.call)
                    else:
                        await self._act(sandbox, act)
            await advancer.advance(BEGINS + end * WEEK - self._clock.now())
        self._progress(end, chapter.what)

    def _week(self, week: int, world: World) -> Iterator[Act]:
        """Yield what happens in *week*, in any order."""
        monday = BEGINS + week * WEEK
        for when, hours, what, about, units in ACTS:
            if when == week:
                yield Act(monday + timedelta(hours=hours), what, about, units)
        for customer in CUSTOMERS:
            if customer.first == week:
                yield Act(monday + timedelta(hours=8), "issue", customer.label, customer.quota)
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
                yield Act(at, "search", customer.label, call=call)

    async def _search(
        self, client: httpx.AsyncClient, customer: str, call: dict[str, Any]
    ) -> None:
        headers = {"Authorization": f"Bearer {self._keys[customer].key}"}
        answer = await client.post("/contacts", json=call, headers=headers)
        # Refused: no quota is left, the service is paused, the key is revoked.
        assert answer.status_code in {200, 202, 401, 402, 403, 429, 503}, answer.text

    async def _act(self, sandbox: SandboxService, act: Act) -> None:
        operator = Operator(sandbox.service.streams, self._clock, OPERATOR)
        match act.what:
            case "issue":
                self._keys[act.about] = await operator.create_key(act.about, act.units)
            case "grant":
                await operator.grant_quota(self._keys[act.about].id, act.units)
            case "rotate":
                self._keys[act.about] = await operator.rotate_key(self._keys[act.about].id)
            case "revoke":
                await operator.revoke_key(self._keys[act.about].id)
            case "pause":
                await operator.pause()
            case "resume":
                await operator.resume()
            case "forget":
                await operator.forget_brand(Query(brand=act.about))
            case _:
                await self._erase(sandbox, act.about)

    async def _erase(self, sandbox: SandboxService, email: str) -> None:
        async with open_folder(DataFolder(sandbox.settings.data_dir)) as data:
            erasure = Erasure(
                sandbox.service.streams,
                data.keys,
                self._clock,
                reached_end(data.log, sandbox.service.views),
                forget_calls=partial(erase_paid_calls, sandbox.settings),
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
