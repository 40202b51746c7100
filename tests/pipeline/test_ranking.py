"""The stage that ranks: `cs.domain.ranking` behind it, off the event loop for many people."""

import asyncio

import pytest

from cs.domain.contact import Person
from cs.domain.ranking import rank
from cs.domain.stages.work import RankingDone, RankingInput, Work
from cs.pipeline.ranking import RANKED_ON_THE_LOOP, Ranking
from domain.acme_run import AT, AT_TWO_DOMAINS
from pipeline.managed import LOOKUP

TITLES = (
    "Head of Influencer Marketing",
    "Social Media Manager",
    "Accountant",
    "Brand Designer",
)


def people(number: int) -> tuple[Person, ...]:
    return tuple(
        Person(
            person=f"p{n}",
            full_name=f"Jo Lane {n}",
            headline=f"{TITLES[n % len(TITLES)]} at {AT_TWO_DOMAINS.name}",
            company=AT_TWO_DOMAINS.name,
        )
        for n in range(1, number + 1)
    )


@pytest.mark.parametrize(
    ("number", "others_run"), [(RANKED_ON_THE_LOOP, False), (RANKED_ON_THE_LOOP + 1, True)]
)
async def test_many_people_are_ranked_while_others_run(
    number: int, *, others_run: bool
) -> None:
    given = RankingInput(brand=AT_TWO_DOMAINS, people=people(number))
    work = Work(lookup=LOOKUP, stage="ranking", attempt=1, deadline_at=AT, input=given)
    ran: list[bool] = []
    asyncio.get_running_loop().call_soon(ran.append, True)

    async def report(finding: object) -> None:
        raise AssertionError(finding)

    found = await Ranking().handle(work, report)

    assert bool(ran) is others_run
    assert isinstance(found, RankingDone)
    assert (found.ranked, found.left_out) == rank(
        given.brand, given.people, limit=given.contacts
    )
    assert found.ranked
    assert found.left_out
