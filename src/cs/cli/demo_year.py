"""A year of history, made in under a minute: ``cs demo --history``.

The whole service runs in its sandbox world, from chapter to chapter of the made-up year
(`cs.sandbox.year`), on a clock that is moved from one thing to the next.  Nothing is written
by hand: every event is what the service made of a call, an answer or an operator's command.
"""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import msgspec
from msgspec.structs import replace

from cs import settings
from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.embedded import clock_advance, run_embedded
from cs.assembly.erasing import reached_end
from cs.assembly.folder_paid_calls import erase_paid_calls, open_paid_calls
from cs.assembly.folder_stores import open_folder
from cs.assembly.one_process import RunningService
from cs.assembly.plugins import open_plugins
from cs.cli.sandbox_service import OURS_AND_PLAYED, OURS_ONLY, enter_world
from cs.domain.contact import LeftOut, Query
from cs.domain.stages.work import AnyFinding, RankingDone, StageName, Work
from cs.eventlog.fingerprints import email_print
from cs.operations.erasure.person import Erasure
from cs.operations.operator import NewSecret, Operator
from cs.paid_calls.paid import EVERY_TIME, PaidCalls
from cs.pipeline.ranking import Ranking
from cs.plugins.stages import Report
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolder
from cs.runtime.private_files import temporary_folder
from cs.sandbox.shapes import World
from cs.sandbox.year import BEGINS, PAID, UPDATE, WEEK, WEEKS, Chapter, worlds
from cs.settings import Settings

#: Who acts as the operator.
OPERATOR = "dana"
#: What ranked before the update (`cs.domain.rule_sets`).
OLDER_RULES = "ranking-0"
#: Of the order in which customers ask, and for what.
_SEED = 2026


class Customer(msgspec.Struct, frozen=True):
    """Somebody with a key.

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


class Ask(msgspec.Struct, frozen=True):
    """A call for contacts."""

    customer: str
    brand: str
    domain: str | None


class Act(msgspec.Struct, frozen=True):
    """Something that the operator does.

    Attributes:
        what: ``grant``, ``rotate``, ``revoke``, ``pause``, ``resume``, ``forget``, ``erase``.
        about: A customer's label, a brand or an e-mail.
    """

    what: str
    about: str = ""
    units: int = 0


#: By week and hours into it.
ACTS = (
    (18, 34.0, Act("forget", "Ivorene")),
    (19, 58.0, Act("pause")),
    (19, 64.0, Act("resume")),
    (26, 10.0, Act("grant", "Aster Agency", 100)),
    (30, 11.0, Act("grant", "Brightside Talent", 60)),
    (32, 33.0, Act("rotate", "in-house CRM")),
    (34, 110.0, Act("revoke", "Cobalt (trial)")),
    (36, 36.0, Act("erase", "priya.raman@veltrana.test")),
    (44, 57.0, Act("erase", "mateo@kivandra.test")),
)

#: Told how far it is: weeks that are over, and what happens now.
Progress = Callable[[int, str], None]


def make_year(folder: Path, progress: Progress) -> None:
    """Write the year's log, keys and views into the data folder *folder*.

    It appears when it is whole.

    Raises:
        CannotListen: This machine lacks the loopback addresses that the world needs.
        OSError: *folder* is there already, or cannot be made.
    """
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.absolute().parent, f".{folder.name}-") as work:
        data = work / "data"
        chosen = settings.load(environment={}, given={"data_dir": data, **OURS_ONLY})
        asyncio.run(_live_through(_Year(chosen, work / "certificates", progress)))
        data.rename(folder)


async def _live_through(year: "_Year") -> None:
    chapters = list(worlds())
    ends = [chapter.week for chapter, _ in chapters[1:]] + [WEEKS]
    for (chapter, world), end in zip(chapters, ends, strict=True):
        await year.live(chapter, world, end)


class _Year:
    """The service and those around it, chapter after chapter."""

    def __init__(self, chosen: Settings, certificates: Path, progress: Progress) -> None:
        self._settings = chosen
        self._certificates = certificates
        self._clock = _clock_that_begins(BEGINS)
        self._progress = progress
        self._keys: dict[str, NewSecret] = {}
        self._random = random.Random(_SEED)  # noqa: S311  a made-up world, the same every time

    async def live(self, chapter: Chapter, world: World, end: int) -> None:
        """Live through *chapter*, to the beginning of the week *end*."""
        async with AsyncExitStack() as stack:
            providers = chapter.week >= PAID
            asked = OURS_AND_PLAYED if providers else OURS_ONLY
            chosen = await enter_world(
                world,
                stack,
                replace(self._settings, **asked),
                self._certificates,
                self._clock,
                providers=providers,
            )
            paid: PaidCalls = EVERY_TIME
            if providers:
                paid = await stack.enter_async_context(open_paid_calls(chosen))
            plugins = await stack.enter_async_context(
                open_plugins(chosen, self._clock, paid, world="sandbox")
            )
            if chapter.week < UPDATE:
                plugins = replace(plugins, stages=(_OlderRanking(),))
            service = await stack.enter_async_context(
                run_embedded(chosen, plugins, "sandbox", self._clock)
            )
            client = await stack.enter_async_context(
                httpx.AsyncClient(
                    transport=httpx.ASGITransport(service.app), base_url="http://demo/v1"
                )
            )
            operator = Operator(service.streams, self._clock, OPERATOR)
            advancer = clock_advance(service, self._clock)
            advancer.patient = True  # the same year on a slow machine
            for week in range(chapter.week, end):
                self._progress(week, chapter.what)
                for at, happening in self._week(week, world):
                    await advancer.advance(max(at - self._clock.now(), timedelta()))
                    if isinstance(happening, Ask):
                        await self._ask(client, happening)
                    else:
                        await self._act(operator, service, happening)
            await advancer.advance(BEGINS + end * WEEK - self._clock.now())
        self._progress(end, chapter.what)

    def _week(self, week: int, world: World) -> Iterator[tuple[datetime, Ask | Act]]:
        """Yield what happens in *week*, in order."""
        monday = BEGINS + week * WEEK
        happenings: list[tuple[datetime, Ask | Act]] = [
            (monday + timedelta(hours=hours), act) for when, hours, act in ACTS if when == week
        ]
        happenings += [
            (monday + timedelta(hours=8), Act("issue", customer.label, customer.quota))
            for customer in CUSTOMERS
            if customer.first == week
        ]
        for customer in CUSTOMERS:
            if customer.first <= week <= customer.last:
                happenings += [
                    self._wish(monday, customer, world) for _ in range(customer.a_week)
                ]
        return iter(sorted(happenings, key=lambda each: each[0]))

    def _wish(
        self, monday: datetime, customer: Customer, world: World
    ) -> tuple[datetime, Ask | Act]:
        day, minute = self._random.randrange(5), self._random.randrange(9 * 60)
        at = monday + timedelta(days=day, hours=9, minutes=minute)
        # The first brands of the world are asked for most.
        n = min(int(self._random.expovariate(0.16)), len(world.brands) - 1)
        brand = world.brands[n]
        return at, Ask(customer.label, brand.name, brand.domain if customer.domains else None)

    async def _ask(self, client: httpx.AsyncClient, ask: Ask) -> None:
        body = {"brand": ask.brand} | ({"domain": ask.domain} if ask.domain else {})
        secret = self._keys[ask.customer].key
        answer = await client.post(
            "/contacts", json=body, headers={"Authorization": f"Bearer {secret}"}
        )
        # Refused: no quota is left, the service is paused, the key is revoked.
        assert answer.status_code in {200, 202, 401, 402, 403, 429, 503}, answer.text

    async def _act(self, operator: Operator, service: RunningService, act: Act) -> None:
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
                await self._erase(service, act.about)

    async def _erase(self, service: RunningService, email: str) -> None:
        async with open_folder(DataFolder(self._settings.data_dir)) as data:
            erasure = Erasure(
                service.streams,
                data.keys,
                self._clock,
                reached_end(data.log, service.views),
                forget_calls=partial(erase_paid_calls, self._settings),
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


class _ShiftedClock(SystemClock):
    """The machine's clock, shifted so that it says *begins* now."""

    def __init__(self, begins: datetime) -> None:
        real = SystemClock()
        shift = begins - real.now()
        super().__init__(lambda: real.now() + shift, real.monotonic)


def _clock_that_begins(begins: datetime) -> SandboxClock:
    async def nowhere(_ahead: timedelta) -> None:
        """Keep no offset: the finished year is read by the machine's own time."""

    real: Clock = _ShiftedClock(begins)
    return SandboxClock(timedelta(), nowhere, real)
