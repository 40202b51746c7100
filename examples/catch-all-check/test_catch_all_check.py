"""The contract of every stage, and what only this one does."""

from datetime import UTC, datetime

import pytest
from catch_all_check import ROW, CatchAllCheck, from_context

from cs.plugins.contracts.stage import StageCase, StageContract
from cs.plugins.contracts.stand_in import (
    ServiceRequest,
    SilentStandIn,
    StandIn,
    out_of_order,
    stage_context,
)
from cs.plugins.stages import (
    AnyFinding,
    ApiClient,
    BrandFacts,
    ExtraInput,
    FactsFound,
    Person,
    PersonFacts,
    Work,
)

ADA = Person(person="p1", full_name="", first_name="Ada", last_name="Kern")
BEN = Person(person="p2", full_name="", addresses=("b.ode@acme.example",))


def answer(asked: ServiceRequest) -> object:
    return {"exists": {each: each.startswith("ada") for each in asked.json["addresses"]}}


def made(api: ApiClient) -> CatchAllCheck:
    return from_context(stage_context(api, url="https://verifier.example", key="s3cret"))


def work(number: int, *people: Person) -> Work:
    return Work(
        lookup=f"brand-5f0c.{number}",
        stage=ROW.name,
        item="acme.example",
        attempt=1,
        deadline_at=datetime(2199, 1, 1, tzinfo=UTC),
        input=ExtraInput(brand=BrandFacts(name="Acme"), people=people, item="acme.example"),
    )


async def unreported(finding: AnyFinding) -> None:
    raise AssertionError(finding)


class TestCatchAllCheck(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        return StageCase(
            stage=made(StandIn(answer)),
            work=[work(1, ADA, BEN), work(2, BEN)],
            broken=out_of_order(made),
            silent=made(SilentStandIn()),
        )


@pytest.mark.asyncio
async def test_an_address_that_the_second_verifier_knows_is_likely() -> None:
    found = await made(StandIn(answer)).handle(work(1, ADA, BEN), unreported)

    likely = PersonFacts(person="p1", facts={"likely_email": "ada.kern@acme.example"})
    assert found == FactsFound(people=(likely,))
