"""The cost of an attempt, by source and verifier, comes with however it ended."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

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
)
from cs.plugins.sources import PeopleAnswer, PeopleSource, SourceStatus
from cs.plugins.stages import Stage
from domain.acme_run import ACME, ADA, AT, BEN
from harness.outside import stage as build
from paid_calls import test_service as service
from pipeline import test_asking_stages as sources
from pipeline import test_verification as verifiers
from pipeline.loop import Loop

CENT = 10_000


@dataclass
class PaidPeople:
    """A people source that asks a service for one cent a name, and finds Ada and Ben."""

    world: service.World
    name: str = "acme"
    cost: float = 0.03
    found: asyncio.Event = field(default_factory=asyncio.Event)
    hangs: bool = False

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del brand, limit
        for _ in range(2):  # the second answer is remembered
            await self.world.service.ask(
                service.ASKED, service.NamesAnswer, charged=lambda found: len(found.names)
            )
        self.found.set()
        if self.hangs:
            await asyncio.Event().wait()
        people = tuple(replace(each, source=self.name) for each in (ADA, BEN))
        return PeopleAnswer(source=self.name, ended=SourceStatus.USED, people=people)


def work(stage: Stage, **more: Any) -> Work:
    late = AT + timedelta(seconds=60)
    return Work(lookup="brand-a.1", stage=stage.name, attempt=1, deadline_at=late, **more)


async def finding_of(stage: Stage, given: Work) -> AnyFinding:
    """Return the result that the worker of *stage* sends."""
    loop = Loop()
    async with loop.running(loop.stage(stage)):
        await loop.give(given)
        while True:
            (outcome,) = await loop.outcomes(1)
            if isinstance(outcome.finding, Discovered | DomainVerified):
                return outcome.finding


async def test_a_source_has_its_calls_its_money_and_its_people() -> None:
    async with service.asking(service.GOOD) as world:
        people: list[PeopleSource] = [
            PaidPeople(world),
            sources.People("free", SourceStatus.USED, (replace(ADA, source="free"),)),
            sources.People("dear", SourceStatus.NOT_CONFIGURED, cost=1.0),
        ]
        stage = build("contact-discovery", people=people)
        found = await finding_of(stage, work(stage, input=DiscoveryInput(ACME)))

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


async def test_a_verifier_has_its_questions_and_the_people_it_verified() -> None:
    free = verifiers.ScriptedVerifier(
        {"ada.kern": (verifiers.UNKNOWN, None)}, otherwise=(verifiers.UNKNOWN, None), name="own"
    )
    paid = verifiers.ScriptedVerifier(
        {"ada.kern": (verifiers.YES, None)},
        name="paid",
        cost=0.0002,
        otherwise=(verifiers.NO, None),
    )
    stage = build("verification", verifiers=[free, paid])
    asked = VerificationInput("acme.example", (verifiers.ADA, verifiers.BEN))
    found = await finding_of(stage, work(stage, item="acme.example", input=asked))

    assert isinstance(found, DomainVerified)
    own, bought = found.costs
    assert (own.name, own.asked, own.found, own.used) == ("own", len(free.asked), 0, 0)
    assert (bought.name, bought.asked) == ("paid", len(paid.asked))
    assert (bought.found, bought.used) == (1, 1)


async def test_an_attempt_whose_time_is_up_says_what_it_has_cost() -> None:
    loop = Loop()
    async with service.asking(service.GOOD) as world:
        source = PaidPeople(world, hangs=True)
        stage = build("contact-discovery", people=[source])
        async with loop.running(loop.stage(stage)):
            await loop.give(work(stage, input=DiscoveryInput(ACME)))
            await source.found.wait()
            loop.passes(60)
            (outcome,) = await loop.outcomes(1)

    cost = SourceCost(name="acme", asked=1, calls=1, micros=2 * CENT, expected_micros=15_000)
    assert outcome.finding == Failed(why="timeout", retryable=True, costs=(cost,))
