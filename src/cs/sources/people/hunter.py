"""People whose addresses Hunter has seen (api.hunter.io/v2, ``/domain-search``).

A search costs one credit for up to ten addresses, and nothing where none is found.  **What it
names is a candidate, never proof**: its addresses are not verified, and may be old.  By 403 it
means "too fast" and by 429 "no credits left", the other way round than everybody else.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cs.plugins.sources import (
    ORDINARY,
    BrandFacts,
    Judgement,
    ProblemKind,
    Question,
    Response,
    ServiceSettings,
    Sighting,
    problem,
)
from cs.sources.adapters import (
    Burst,
    CallsPerS,
    PaidPeopleSource,
    Url,
    UsdPerCredit,
    brand_domain,
    factory,
    parent_domain,
    person,
)

#: Addresses that one credit pays for.
OF_A_CREDIT = 10
#: Who may run influencer marketing, in Hunter's words.
DEPARTMENTS = "marketing,communication,management"
SENIORITIES = "senior,executive"


class HunterSettings(ServiceSettings, frozen=True, kw_only=True):
    """What ``[sources.hunter]`` takes; limits are Hunter's own: 15 a second, 500 a minute."""

    url: Url = "https://api.hunter.io/v2"
    calls_per_s: CallsPerS = 8.0
    burst: Burst = 5
    usd_per_call: UsdPerCredit = 0.05
    addresses: Annotated[
        int, Meta(ge=1, le=100, description="asked for in a search; ten cost a credit")
    ] = 10


#: What it calls the fields of a person.
_NAMES = {"email": "value", "headline": "position", "profile": "linkedin"}


class _Data(msgspec.Struct):
    organization: str | None = None
    webmail: bool | None = None
    disposable: bool | None = None
    emails: tuple[dict[str, Any], ...] = ()


class _HunterAnswer(msgspec.Struct):
    data: _Data


def judge(answer: Response) -> Judgement:
    """Read 403 and 429 as Hunter means them."""
    match answer.status:
        case 403:
            why = "hunter asks us to come back later (403, its rate limit)"
            return problem(ProblemKind.RATE_LIMITED, why)
        case 429:
            why = "hunter has no credits left for this key (429); buy some"
            return problem(ProblemKind.NO_CREDITS, why)
        case _:
            return ORDINARY


class HunterSource(PaidPeopleSource[HunterSettings]):
    name = "hunter"
    check_question = Question(path="/account", units=0)
    judge = staticmethod(judge)

    @property
    def units(self) -> int:
        return _credits(self.settings.addresses)

    async def _people(self, brand: BrandFacts, limit: int) -> AsyncIterator[Sighting]:
        """Ask for the brand's people; for its parent's only where nobody is there.

        A credit is for an answer with somebody in it, so the second question costs no more.
        """
        domain, parent = brand_domain(brand), parent_domain(brand)
        about = {"domain": domain} if domain else {"company": brand.name}
        people = await self._at(about, brand.name, limit)
        if not people and parent is not None:
            people = await self._at({"domain": parent}, brand.parent_company or "", limit)
        for each in people:
            yield each

    async def _at(self, about: dict[str, str], company: str, limit: int) -> list[Sighting]:
        params = {
            **about,
            "type": "personal",
            "department": DEPARTMENTS,
            "seniority": SENIORITIES,
            "limit": str(min(self.settings.addresses, max(limit, 1))),
        }
        question = Question(path="/domain-search", params=params, units=self.units)
        found = await self.ask(question, _HunterAnswer, _charged)
        # The domain of a mail service is nobody's company.
        if found is None or found.data.webmail or found.data.disposable:
            return []
        employer = found.data.organization or company
        people = (person(self.name, each, _NAMES, employer) for each in found.data.emails)
        return [each for each in people if each is not None]

    def left(self, answer: Response) -> str | None:
        try:
            account: Any = msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            return None
        match account:
            case {
                "data": {"requests": {"searches": {"used": int(used), "available": int(most)}}}
            }:
                return f"{most - used:,} of {most:,} searches"
            case _:
                return None


def _credits(addresses: int) -> int:
    return -(-addresses // OF_A_CREDIT)


def _charged(answer: _HunterAnswer) -> int:
    return _credits(len(answer.data.emails))


from_context = factory(HunterSource, HunterSettings)
