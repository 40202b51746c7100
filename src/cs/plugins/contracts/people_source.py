"""What every people source does, whatever it asks.

A plug-in's test module inherits `PeopleSourceContract` and gives a fixture ``case``:

```python
class TestShop(PeopleSourceContract):
    @pytest.fixture
    def case(self) -> PeopleSourceCase: ...
```
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from cs.domain.stages.limits import check
from cs.plugins.contracts.kit import HOSTILE_NAMES, SourceContract, in_time
from cs.plugins.sources import BrandFacts, PeopleAnswer, PeopleSource, SourceStatus


class PeopleSourceCase(NamedTuple):
    """Sources in the states that the contract speaks of.

    Attributes:
        source: Works.
        known: A brand with at least two people there.
        unknown: One without people.
        broken: The same kind of source, with its outside service in every odd state, by the
            name of the state: `cs.plugins.contracts.stand_in.out_of_order` makes them.
    """

    source: PeopleSource
    known: BrandFacts
    unknown: BrandFacts
    broken: Mapping[str, PeopleSource] | Sequence[PeopleSource]


@in_time
class PeopleSourceContract(SourceContract):
    """Inherit, and give a fixture ``case``."""

    async def ask(self, source: Any, asked: Any) -> PeopleAnswer:
        answer: PeopleAnswer = await source.find(asked, limit=50)
        return answer

    def found(self, answer: Any) -> Any:
        return answer.people

    async def test_people_it_knows_are_found_once_each(self, case: PeopleSourceCase) -> None:
        answer = await case.source.find(case.known, limit=50)

        assert answer.source == case.source.name, "an answer names the source that gave it"
        assert answer.ended is SourceStatus.USED, f"found people: USED ({answer.why})"
        addresses = [person.linkedin_url for person in answer.people if person.linkedin_url]
        assert len(addresses) == len(set(addresses)), "each profile once"
        assert len(answer.people) >= 2, "`known` of the case is a brand with two people or more"

    async def test_each_person_is_named_and_says_who_saw_them(
        self, case: PeopleSourceCase
    ) -> None:
        answer = await case.source.find(case.known, limit=50)

        for person in answer.people:
            named = person.full_name.strip() == person.full_name != ""
            assert named, "full_name is set, without spaces around it"
            assert person.source == case.source.name, "source of a sighting: the source's name"
            assert person.linkedin_url is None or person.linkedin_url.startswith(
                "https://www.linkedin.com/in/"
            ), "linkedin_url is https://www.linkedin.com/in/<name>, or None"

    async def test_the_limit_is_kept_and_the_first_stay_first(
        self, case: PeopleSourceCase
    ) -> None:
        everybody = await case.source.find(case.known, limit=50)
        one = await case.source.find(case.known, limit=1)

        assert one.people == everybody.people[:1], "limit=1 gives the first of all people"

    async def test_nobody_found_is_no_result(self, case: PeopleSourceCase) -> None:
        answer = await case.source.find(case.unknown, limit=50)

        expected = (SourceStatus.NO_RESULTS, ())
        assert (answer.ended, answer.people) == expected, (
            f"a service that knows nobody: NO_RESULTS and no people ({answer.why})"
        )

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

                assert answer.source == case.source.name, f"asked for the brand {name!r}"
                check(answer.people)
