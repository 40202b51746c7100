"""What every people source does, whatever it asks.

A plug-in's test module inherits `PeopleSourceContract` and gives a fixture ``case``:

```python
class TestShop(PeopleSourceContract):
    @pytest.fixture
    def case(self) -> PeopleSourceCase: ...
```
"""

from typing import NamedTuple

import pytest
from msgspec.structs import replace

from cs.domain.stages.limits import check
from cs.plugins.contracts.hostile_names import HOSTILE_NAMES
from cs.plugins.sources import INCONCLUSIVE, BrandFacts, PeopleSource, SourceStatus


class PeopleSourceCase(NamedTuple):
    """Sources in the states that the contract speaks of.

    Attributes:
        source: Works.
        known: A brand with at least two people there.
        unknown: One with nobody.
        broken: The same kind of source, with its outside service in every odd state.
    """

    source: PeopleSource
    known: BrandFacts
    unknown: BrandFacts
    broken: tuple[PeopleSource, ...]


class PeopleSourceContract:
    """Inherit, and give a fixture ``case``."""

    pytestmark = pytest.mark.asyncio

    async def test_people_it_knows_are_found_once_each(self, case: PeopleSourceCase) -> None:
        answer = await case.source.find(case.known, limit=50)

        assert (answer.source, answer.ended) == (case.source.name, SourceStatus.USED)
        addresses = [person.linkedin_url for person in answer.people if person.linkedin_url]
        assert len(addresses) == len(set(addresses))
        assert len(answer.people) >= 2

    async def test_each_person_is_named_and_says_who_saw_them(
        self, case: PeopleSourceCase
    ) -> None:
        answer = await case.source.find(case.known, limit=50)

        for person in answer.people:
            assert person.full_name.strip() == person.full_name != ""
            assert person.source == case.source.name
            assert person.linkedin_url is None or person.linkedin_url.startswith(
                "https://www.linkedin.com/in/"
            )

    async def test_the_limit_is_kept_and_the_first_stay_first(
        self, case: PeopleSourceCase
    ) -> None:
        everybody = await case.source.find(case.known, limit=50)
        one = await case.source.find(case.known, limit=1)

        assert one.people == everybody.people[:1]

    async def test_nobody_found_is_no_result(self, case: PeopleSourceCase) -> None:
        answer = await case.source.find(case.unknown, limit=50)

        assert (answer.ended, answer.people) == (SourceStatus.NO_RESULTS, ())

    async def test_what_it_answers_is_what_a_message_may_hold(
        self, case: PeopleSourceCase
    ) -> None:
        answer = await case.source.find(case.known, limit=50)

        check(answer.people)

    async def test_no_name_of_a_brand_makes_it_raise_or_answer_what_none_may(
        self, case: PeopleSourceCase
    ) -> None:
        for name in HOSTILE_NAMES:
            for brand in (
                replace(case.known, name=name),
                replace(case.known, parent_company=name, aliases=(name,)),
                replace(case.known, domain=name, linkedin_company_url=name),
            ):
                answer = await case.source.find(brand, limit=50)

                assert answer.source == case.source.name
                check(answer.people)

    async def test_asked_twice_it_answers_the_same(self, case: PeopleSourceCase) -> None:
        first = await case.source.find(case.known, limit=50)
        second = await case.source.find(case.known, limit=50)

        assert first == second

    async def test_a_service_out_of_order_is_never_an_empty_answer(
        self, case: PeopleSourceCase
    ) -> None:
        for source in case.broken:
            answer = await source.find(case.known, limit=50)

            assert answer.ended in INCONCLUSIVE | {SourceStatus.NOT_CONFIGURED}
            assert answer.people == ()
            assert answer.why
            assert answer.retry_in_s is None or answer.retry_in_s >= 0
