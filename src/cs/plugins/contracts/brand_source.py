"""The rules for every brand source, whatever it asks.

A plug-in's test module inherits `BrandSourceContract` and gives a fixture ``case``:

```python
class TestShop(BrandSourceContract):
    @pytest.fixture
    def case(self) -> BrandSourceCase: ...
```
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cs.domain.names.brand_names import canonical_domain
from cs.plugins.contracts.kit import SourceContract, in_time
from cs.plugins.sources import BrandAnswer, BrandSource, Query, SourceStatus


class BrandSourceCase(NamedTuple):
    """Sources in the states that the contract speaks of.

    Attributes:
        source: Works.
        known: What *source* knows.
        unknown: What it does not.
        broken: The same kind of source, with its outside service in every odd state, by the
            name of the state: `cs.plugins.contracts.stand_in.out_of_order` makes them.
    """

    source: BrandSource
    known: Query
    unknown: Query
    broken: Mapping[str, BrandSource]


@in_time
class BrandSourceContract(SourceContract):
    """Inherit, and give a fixture ``case``."""

    async def ask(self, source: Any, asked: Any) -> BrandAnswer:
        answer: BrandAnswer = await source.find(asked, None)
        return answer

    def found(self, answer: Any) -> Any:
        return tuple(match.facts for match in answer.matches)

    def hostile(self, case: Any, name: str) -> Iterable[Query]:
        del case
        return [Query(brand=name)]

    async def test_the_best_match_comes_first(self, case: BrandSourceCase) -> None:
        scores = [match.score for match in (await self.ask(case.source, case.known)).matches]

        assert scores == sorted(scores, reverse=True), "the best match first"
        assert all(0 < score <= 1 for score in scores), "a score is above 0, at most 1"

    async def test_its_facts_are_in_the_forms_of_the_service(
        self, case: BrandSourceCase
    ) -> None:
        for facts in self.found(await self.ask(case.source, case.known)):
            domains = [d for d in (facts.domain, *facts.mail_domains) if d]
            canonical = [canonical_domain(domain) for domain in domains]
            assert domains == canonical, "domains: lower case, ASCII, no www., no scheme"
            assert facts.domain is None or facts.mail_domains[:1] == (facts.domain,), (
                "mail_domains begins with the domain"
            )
            assert facts.name.strip(), "the brand has a name"
            for page, start in (
                (facts.linkedin_company_url, "https://www.linkedin.com/company/"),
                (facts.instagram, "https://www.instagram.com/"),
                (facts.tiktok, "https://www.tiktok.com/@"),
            ):
                assert page is None or page.startswith(start), f"{start}<name>, or None"

    async def test_what_it_found_it_confirms(self, case: BrandSourceCase) -> None:
        found = (await self.ask(case.source, case.known)).matches[0]

        again = await case.source.find(case.known, found.facts)

        assert again.ended is SourceStatus.USED, f"asked again with what it found: {again.why}"
        assert again.matches[0].facts.domain == found.facts.domain, "it confirms the domain"
