"""What every brand source does, whatever it asks.

A plug-in's test module inherits `BrandSourceContract` and gives a fixture ``case``:

```python
class TestShop(BrandSourceContract):
    @pytest.fixture
    def case(self) -> BrandSourceCase: ...
```
"""

from typing import NamedTuple

import pytest

from cs.domain.names.brand_names import canonical_domain
from cs.domain.stages.limits import check
from cs.plugins.contracts.hostile_names import HOSTILE_NAMES
from cs.plugins.sources import INCONCLUSIVE, BrandSource, Query, SourceStatus


class BrandSourceCase(NamedTuple):
    """Sources in the states that the contract speaks of.

    Attributes:
        source: Works.
        known: What *source* knows.
        unknown: What it does not.
        broken: The same kind of source, with its outside service in every odd state.
    """

    source: BrandSource
    known: Query
    unknown: Query
    broken: tuple[BrandSource, ...]


class BrandSourceContract:
    """Inherit, and give a fixture ``case``."""

    pytestmark = pytest.mark.asyncio

    async def test_a_brand_it_knows_is_used_and_best_first(self, case: BrandSourceCase) -> None:
        answer = await case.source.find(case.known, None)

        scores = [match.score for match in answer.matches]
        assert (answer.source, answer.ended) == (case.source.name, SourceStatus.USED)
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        assert scores

    async def test_its_facts_are_in_the_forms_of_the_service(
        self, case: BrandSourceCase
    ) -> None:
        answer = await case.source.find(case.known, None)

        for facts in (match.facts for match in answer.matches):
            domains = [d for d in (facts.domain, *facts.mail_domains) if d]
            assert domains == [canonical_domain(domain) for domain in domains]
            assert facts.domain is None or facts.mail_domains[:1] == (facts.domain,)
            assert facts.name.strip()
            for page, start in (
                (facts.linkedin_company_url, "https://www.linkedin.com/company/"),
                (facts.instagram, "https://www.instagram.com/"),
                (facts.tiktok, "https://www.tiktok.com/@"),
            ):
                assert page is None or page.startswith(start)

    async def test_what_it_does_not_know_is_no_result(self, case: BrandSourceCase) -> None:
        answer = await case.source.find(case.unknown, None)

        assert (answer.ended, answer.matches) == (SourceStatus.NO_RESULTS, ())

    async def test_what_it_answers_is_what_a_message_may_hold(
        self, case: BrandSourceCase
    ) -> None:
        answer = await case.source.find(case.known, None)

        check(tuple(match.facts for match in answer.matches))

    async def test_no_name_makes_it_raise_or_answer_what_no_message_may_hold(
        self, case: BrandSourceCase
    ) -> None:
        for name in HOSTILE_NAMES:
            answer = await case.source.find(Query(brand=name), None)

            assert answer.source == case.source.name
            check(tuple(match.facts for match in answer.matches))

    async def test_asked_twice_it_answers_the_same(self, case: BrandSourceCase) -> None:
        first = await case.source.find(case.known, None)
        second = await case.source.find(case.known, None)

        assert first == second

    async def test_what_it_found_it_confirms(self, case: BrandSourceCase) -> None:
        found = (await case.source.find(case.known, None)).matches[0]

        again = await case.source.find(case.known, found.facts)

        assert again.ended is SourceStatus.USED
        assert again.matches[0].facts.domain == found.facts.domain

    async def test_a_service_out_of_order_is_never_an_empty_answer(
        self, case: BrandSourceCase
    ) -> None:
        for source in case.broken:
            answer = await source.find(case.known, None)

            assert answer.ended in INCONCLUSIVE | {SourceStatus.NOT_CONFIGURED}
            assert answer.matches == ()
            assert answer.why
            assert answer.retry_in_s is None or answer.retry_in_s >= 0
