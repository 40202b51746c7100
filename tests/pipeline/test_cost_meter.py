"""What an attempt cost, by source and verifier, and that it comes with whatever ended it."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from cs.domain.contact import BrandFacts
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    Failed,
    VerificationInput,
    Work,
    with_costs,
)
from cs.paid_calls.current_work import set_current_lookup
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.cost_meter import asking, metered
from cs.pipeline.verification import Verification
from cs.plugins.sources import PeopleAnswer, SourceStatus
from cs.plugins.stages import Report, Stage
from domain.acme_run import ACME, ADA, BEN
from paid_calls import test_service as service
from pipeline import test_asking_stages as sources
from pipeline import test_verification as verifiers
from pipeline.test_runner import AT, ScriptedStage, Side, work

CENT = 10_000


@dataclass
class PaidPeople:
    """A people source that asks a service for one cent a name, and finds Ada and Ben."""

    world: service.World
    name: str = "acme"
    cost: float = 0.03

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del brand, limit
        with set_current_lookup("brand-a.1"):
            for _ in range(2):  # the second answer is remembered
                await self.world.service.ask(
                    service.ASKED, service.NamesAnswer, charged=lambda found: len(found.names)
                )
        people = tuple(replace(each, source=self.name) for each in (ADA, BEN))
        return PeopleAnswer(source=self.name, ended=SourceStatus.USED, people=people)


async def finding_of(stage: Stage, given: Work) -> AnyFinding:
    async def report(_: AnyFinding) -> None:
        pass

    with metered() as meter:
        found = await stage.handle(given, report)
    return with_costs(found, meter.costs())


async def test_a_source_has_its_calls_its_money_and_its_people() -> None:
    async with service.asking(service.GOOD) as world:
        stage = ContactDiscovery(
            [
                PaidPeople(world),
                sources.People("free", SourceStatus.USED, (replace(ADA, source="free"),)),
                sources.People("dear", SourceStatus.NOT_CONFIGURED, cost=1.0),
            ]
        )
        given = Work(
            lookup="brand-a.1",
            stage=stage.name,
            attempt=1,
            deadline_at=sources.AT,
            input=DiscoveryInput(ACME),
        )
        found = await finding_of(stage, given)

    assert isinstance(found, Discovered)
    ada_again = 1  # whom the free one had named
    assert found.costs == (
        SourceCost(name="free", asked=1, found=1, used=1),
        SourceCost(
            name="acme",
            asked=1,
            calls=1,
            micros=2 * CENT,
            found=2,
            used=2 - ada_again,
            expected_micros=15_000,
        ),
        SourceCost(name="dear", expected_micros=500_000),
    )


async def test_a_verifier_has_its_questions_and_who_is_verified_by_it() -> None:
    free = verifiers.ScriptedVerifier(
        {"ada.kern": (verifiers.UNKNOWN, None)}, otherwise=(verifiers.UNKNOWN, None), name="own"
    )
    paid = verifiers.ScriptedVerifier(
        {"ada.kern": (verifiers.YES, None)},
        name="paid",
        cost=0.0002,
        otherwise=(verifiers.NO, None),
    )
    given = Work(
        lookup="brand-a.1",
        stage="verification",
        item="acme.example",
        attempt=1,
        deadline_at=verifiers.AT,
        input=VerificationInput("acme.example", (verifiers.ADA, verifiers.BEN)),
    )
    found = await finding_of(Verification([free, paid]), given)

    assert isinstance(found, DomainVerified)
    own, bought = found.costs
    assert (own.name, own.asked, own.found, own.used) == ("own", len(free.asked), 0, 0)
    assert (bought.name, bought.asked) == ("paid", len(paid.asked))
    assert (bought.found, bought.used) == (1, 1)


async def test_an_attempt_whose_time_is_up_says_what_it_has_cost() -> None:
    asked = asyncio.Event()

    async def pay_and_hang(_: Work, __: Report) -> AnyFinding:
        with asking("acme"), set_current_lookup("brand-a.1"):
            await world.service.ask(service.ASKED, service.NamesAnswer)
            asked.set()
            await asyncio.Event().wait()
        raise AssertionError

    side = Side()
    async with (
        service.asking(service.GOOD) as world,
        side.running(ScriptedStage(pay_and_hang)),
    ):
        await side.give(work(left_s=60))
        await asked.wait()
        side.clock.set(AT + timedelta(seconds=60))
        (outcome,) = await side.outcomes(1)

    cost = SourceCost(name="acme", asked=1, calls=1, micros=3 * CENT)
    assert outcome.finding == Failed(why="timeout", retryable=True, costs=(cost,))
