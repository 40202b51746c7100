"""Every brand of a measured world searched by the whole service, and how right it was.

Four ways: the free stack alone; every provider, as the waterfall asks them; the same without
the one that charges for each person; and every provider without a waterfall, each people source
asked about every brand and every verifier about every address.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

import httpx
import msgspec
from msgspec.structs import replace

from cs.assembly.plugins import StagePlugins
from cs.cli.sandbox_service import CHECK_S, SandboxService, sandbox_service
from cs.domain.mail.conclusion import decisive
from cs.domain.mail.mailbox import DomainFacts, Evidence
from cs.paid_calls.budgets.account import StoredBudgets
from cs.paid_calls.budgets.port import MICROS, ReserveResult, ServiceLimits
from cs.plugins.sources import BrandFacts, PeopleAnswer, PeopleSource
from cs.plugins.verifiers import DomainCheck, Verifier
from harness.world_proof import move_clock
from sandbox.provider_world import BrandTruth, MeasuredWorld

Way = Literal["free", "waterfall", "without-records", "everybody"]
WAYS: tuple[Way, ...] = ("free", "waterfall", "without-records", "everybody")
#: Searched at once; the clock is moved whenever all of them wait for it.
AT_ONCE = 20


class Counts(NamedTuple):
    """How many were named, how many of them rightly, and how many there were to be named."""

    named: int = 0
    right: int = 0
    there: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.named if self.named else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.there if self.there else 1.0

    def plus(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


class Measured(msgspec.Struct, kw_only=True):
    """What came of one way.

    Attributes:
        people: Shown, against who holds a role there now.
        mails: Verified, against the addresses of those people.
        provable: Of those addresses, how many anybody could prove.
        false_deliverable: Verified addresses that do not exist, or are a catch-all's.
        left: Verified, of people who hold no role there now: a mailbox they left open.
        namesakes: Verified, of people who do, but a colleague's of the same name.
        ended: Searches by how they ended.
        bill: What the providers charged, by line.
        counted: What the service counted as spent, US dollars by service.
    """

    way: Way
    people: Counts = Counts()
    mails: Counts = Counts()
    provable: int = 0
    false_deliverable: list[str] = []
    left: int = 0
    namesakes: int = 0
    ended: dict[str, int] = {}
    bill: dict[str, Any] = {}
    counted: dict[str, float] = {}

    @property
    def usd(self) -> float:
        usd: float = self.bill.get("usd", 0.0)
        return usd

    @property
    def usd_per_verified(self) -> float:
        return self.usd / self.mails.right if self.mails.right else 0.0

    def calls(self, *lines: str) -> int:
        return sum(self.bill["lines"].get(line, {"calls": 0})["calls"] for line in lines)


class GenerousBudgets(StoredBudgets):
    """Counts what is spent, and lets everybody ask at once, whatever it costs."""

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        del limits
        return await super().reserve(
            service,
            ServiceLimits(calls_per_s=1e6, burst=1_000_000),
            micros,
            patience_s=patience_s,
            through_pause=through_pause,
        )


class AskedLikeFree:
    """A people source that is asked as if it cost nothing."""

    cost = 0.0

    def __init__(self, source: PeopleSource) -> None:
        self._source = source
        self.name = source.name

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        return await self._source.find(brand, limit=limit)


class EveryVerifier:
    """Asks all verifiers about each address, whatever the first of them said."""

    name, cost = "everybody", 0

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        self._verifiers = verifiers

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator["EveryCheck"]:
        opened = [each.open(mail_domain, known) for each in self._verifiers]
        checks = [await each.__aenter__() for each in opened]
        try:
            yield EveryCheck(checks)
        finally:
            for each in reversed(opened):
                await each.__aexit__(None, None, None)


class EveryCheck:
    def __init__(self, checks: Sequence[DomainCheck]) -> None:
        self._checks = checks

    @property
    def learned(self) -> DomainFacts:
        return self._checks[0].learned

    async def check(self, address: str) -> Evidence:
        found = await asyncio.gather(*(each.check(address) for each in self._checks))
        return replace(decisive(found), verifier=EveryVerifier.name)


def _without_waterfall(tools: StagePlugins) -> StagePlugins:
    return replace(
        tools,
        people_sources=[AskedLikeFree(each) for each in tools.people_sources],
        verifiers=[EveryVerifier(tools.verifiers)],
    )


def _without_records(tools: StagePlugins) -> StagePlugins:
    return replace(
        tools, people_sources=[each for each in tools.people_sources if each.name != "pdl"]
    )


_AROUND: dict[Way, Callable[[StagePlugins], StagePlugins]] = {
    "without-records": _without_records,
    "everybody": _without_waterfall,
}


async def run_way(measured: MeasuredWorld, way: Way) -> Measured:
    """Search every brand of *measured* by its name, and count how right the answers are."""
    budgets, result = GenerousBudgets.in_file(None), Measured(way=way)
    async with (
        sandbox_service(
            measured.world,
            providers=way != "free",
            around=_AROUND.get(way, lambda tools: tools),
            budgets=budgets,
        ) as sandbox,
        httpx.AsyncClient(timeout=300, trust_env=False) as client,
    ):
        for start in range(0, len(measured.brands), AT_ONCE):
            batch = measured.brands[start : start + AT_ONCE]
            for brand, record in zip(batch, await _search(sandbox, client, batch), strict=True):
                _count(result, brand, record, measured.mailboxes)
        if sandbox.providers_url is not None:
            answer = await client.get(f"{sandbox.providers_url}/bill")
            result.bill = answer.raise_for_status().json()
    spent = await budgets.spending()
    result.counted = {each.service: each.micros_this_month / MICROS for each in spent}
    return result


async def _search(
    sandbox: SandboxService, client: httpx.AsyncClient, brands: Sequence[BrandTruth]
) -> list[dict[str, Any]]:
    """Return the record of each brand's search, in the same order."""

    async def one(brand: BrandTruth) -> dict[str, Any]:
        key = (await sandbox.operator.create_key("measured", 1)).key
        headers = {"Authorization": f"Bearer {key}"}
        body = {"brand": brand.name, "wait": True}
        url = f"{sandbox.base_url}/contacts"
        answer = await client.post(url, json=body, headers=headers)
        record: dict[str, Any] = answer.raise_for_status().json()
        while record["status"] == "running":
            at = f"{sandbox.base_url}/searches/{record['id']}"
            await sandbox.clock.sleep(CHECK_S)
            record = (await client.get(at, headers=headers)).raise_for_status().json()
        return record

    async with asyncio.TaskGroup() as tasks:
        searches = [tasks.create_task(one(brand)) for brand in brands]
        moving = tasks.create_task(move_clock(sandbox, searches))
        await asyncio.wait(searches)
        moving.cancel()
    return [search.result() for search in searches]


def _count(
    result: Measured, brand: BrandTruth, record: dict[str, Any], mailboxes: frozenset[str]
) -> None:
    how = "done" if record["status"] == "done" else record["reason"]
    result.ended[how] = result.ended.get(how, 0) + 1
    shown = {each["full_name"]: each["email"] for each in record["contacts"]}
    verified = {name: email for name, email in shown.items() if email}
    right = sum(name in brand.in_role for name in shown)
    result.people = result.people.plus(Counts(len(shown), right, len(brand.in_role)))
    right = sum(brand.in_role.get(name) == email for name, email in verified.items())
    result.mails = result.mails.plus(Counts(len(verified), right, len(brand.in_role)))
    result.left += len(verified.keys() - brand.in_role.keys())
    result.namesakes += len(verified.keys() & brand.in_role.keys()) - right
    result.provable += len(brand.in_role) if brand.provable else 0
    result.false_deliverable += [mail for mail in verified.values() if mail not in mailboxes]
