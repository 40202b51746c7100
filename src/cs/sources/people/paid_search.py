"""A web-search engine with a key, as a people source."""

from abc import abstractmethod

from cs.plugins.sources import BrandFacts, PeopleAnswer
from cs.sources.paid_source import PaidPeopleSource, SettingsT
from cs.sources.people.web_search import (
    ENOUGH,
    WebPage,
    WebQuestion,
    find_people,
    most_questions,
    questions,
)


class PaidSearch(PaidPeopleSource[SettingsT]):
    """Asks the questions of `web_search` one after the other, until enough people are found.

    Attributes:
        knows_or: The engine knows ``OR`` and brackets, so that half the questions will do.
        units_each: Prices that a question can cost.
    """

    knows_or = False
    units_each = 1

    @property
    def units(self) -> int:
        return self.units_each * most_questions(joined=self.knows_or)

    async def _find(self, brand: BrandFacts, limit: int) -> PeopleAnswer:
        asked = list(questions(brand, joined=self.knows_or))
        return await find_people(
            self.name, self.search, asked, brand, limit=limit, enough=min(limit, ENOUGH)
        )

    @abstractmethod
    async def search(self, asked: WebQuestion) -> WebPage:
        """Return the results for *asked*; may raise `ServiceProblem`."""
