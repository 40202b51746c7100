"""The rules for every people source, whatever it asks.

A plug-in's test module inherits `PeopleSourceContract` and gives a fixture ``case``:

```python
class TestShop(PeopleSourceContract):
    @pytest.fixture
    def case(self) -> PeopleSourceCase: ...
```
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from cs.plugins.contracts.kit import SourceContract, in_time
from cs.plugins.sources import BrandFacts, PeopleAnswer, PeopleSource


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
    broken: Mapping[str, PeopleSource]


@in_time
class PeopleSourceContract(SourceContract):
    """Inherit, and give a fixture ``case``."""

    async def ask(self, source: Any, asked: Any) -> PeopleAnswer:
        answer: PeopleAnswer = await source.find(asked, limit=50)
        return answer

    def found(self, answer: Any) -> Any:
        return answer.people

    def hostile(self, case: Any, name: str) -> Iterable[BrandFacts]:
        return [
            replace(case.known, name=name),
            replace(case.known, parent_company=name, aliases=(name,)),
            replace(case.known, domain=name, linkedin_company_url=name),
        ]

    async def test_each_person_is_found_once_and_says_which_source_saw_them(
        self, case: PeopleSourceCase
    ) -> None:
        people = (await self.ask(case.source, case.known)).people

        assert len(people) >= 2, "`known` of the case is a brand with two people or more"
        addresses = [person.linkedin_url for person in people if person.linkedin_url]
        assert len(addresses) == len(set(addresses)), "each profile once"
        for person in people:
            named = person.full_name.strip() == person.full_name != ""
            assert named, "full_name is set, without spaces around it"
            assert person.source == case.source.name, "source of a sighting: the source's name"
            assert person.linkedin_url is None or person.linkedin_url.startswith(
                "https://www.linkedin.com/in/"
            ), "linkedin_url is https://www.linkedin.com/in/<name>, or None"

    async def test_the_limit_is_kept_and_the_first_stay_first(
        self, case: PeopleSourceCase
    ) -> None:
        everybody = await self.ask(case.source, case.known)
        one = await case.source.find(case.known, limit=1)

        assert one.people == everybody.people[:1], "limit=1 gives the first of all people"
