"""People of Apollo (api.apollo.io/api/v1): a search that is free, then who is worth a credit.

The search (``POST /mixed_people/api_search``) tells titles and hides last names and addresses;
of those in a role that is looked for a few are asked for by id (``POST /people/match``), each
for a credit if an address comes with it.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from cs.domain.headline.role import classify
from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.employer import is_employer
from cs.domain.names.profile_url import person_page
from cs.plugins.sources import (
    BrandFacts,
    PeopleAnswer,
    ProblemKind,
    Question,
    ServiceProblem,
    ServiceSettings,
    Sighting,
    SourceContext,
    failed_people,
    takes,
)
from cs.sources.people.paid_source import PaidPeopleSource, brand_domain, parent_domain

TITLES = (
    "influencer marketing",
    "creator partnerships",
    "social media",
    "brand partnerships",
    "brand marketing",
)
SENIORITIES = ("manager", "director", "head", "vp", "c_suite")


class ApolloSettings(ServiceSettings, frozen=True, kw_only=True):
    """What ``[sources.apollo]`` takes; 600 calls an hour are its limit."""

    url: Annotated[str, Meta(pattern=r"^https?://\S+$")] = "https://api.apollo.io/api/v1"
    calls_per_s: Annotated[float, Meta(gt=0, le=1000, description="of all workers")] = 0.16
    burst: Annotated[int, Meta(ge=1, le=1000)] = 20
    usd_per_call: Annotated[float, Meta(ge=0, le=1000, description="of one credit")] = 0.05
    people: Annotated[
        int, Meta(ge=1, le=25, description="asked for by name in a search, each a credit")
    ] = 5


class _Organization(msgspec.Struct):
    name: str | None = None


class _ApolloHit(msgspec.Struct):
    id: str = ""
    title: str | None = None
    has_email: bool | None = None
    organization: _Organization | None = None


class _Search(msgspec.Struct):
    people: tuple[_ApolloHit, ...] = ()


class _ApolloPerson(msgspec.Struct):
    name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    title: str | None = None
    headline: str | None = None
    linkedin_url: str | None = None
    email: str | None = None
    organization: _Organization | None = None


class _Match(msgspec.Struct):
    person: _ApolloPerson | None = None


class ApolloSource(PaidPeopleSource[ApolloSettings]):
    name = "apollo"

    @property
    def units(self) -> int:
        return self.settings.people

    async def _find(self, brand: BrandFacts, limit: int) -> PeopleAnswer:
        domain = brand_domain(brand)
        if domain is None:
            return self.answer(())
        # One search for both: who is at the brand itself comes first below.
        parent = parent_domain(brand)
        body = {
            "q_organization_domains_list": [domain] if parent is None else [domain, parent],
            "person_titles": list(TITLES),
            "person_seniorities": list(SENIORITIES),
            "page": 1,
            "per_page": 25,
        }
        asked = Question(path="/mixed_people/api_search", json=body, units=0)
        found = await self.service.ask(asked, _Search)
        wanted = [each for each in found.people if each.id and _in_role(each)]
        # Those of the brand first, of them those with an address; else in Apollo's order.
        wanted.sort(key=lambda each: (_is_elsewhere(each, brand), not each.has_email))
        return await self._matched(wanted[: min(self.settings.people, limit)], brand)

    async def _matched(self, wanted: list[_ApolloHit], brand: BrandFacts) -> PeopleAnswer:
        people: list[Sighting] = []
        for each in wanted:
            question = Question(path="/people/match", json={"id": each.id})
            try:
                match = await self.service.ask(question, _Match, charged=_charged)
            except ServiceProblem as problem:
                if problem.kind is ProblemKind.NOTHING:
                    continue
                return failed_people(self.name, problem, tuple(people))
            sighting = _sighting(match.person, brand)
            if sighting is not None:
                people.append(sighting)
        return self.answer(tuple(people))

    def check_question(self) -> Question:
        body = {"q_organization_domains_list": ["no-company.invalid"], "per_page": 1}
        return Question(path="/mixed_people/api_search", json=body, units=0)


@takes(ApolloSettings)
def from_context(context: SourceContext) -> ApolloSource:
    settings = msgspec.convert(context.settings, ApolloSettings)
    headers = {"x-api-key": settings.key}
    return ApolloSource(context.service("apollo", settings, headers=headers), settings)


def _in_role(found: _ApolloHit) -> bool:
    return classify(found.title or "").eligible


def _is_elsewhere(found: _ApolloHit, brand: BrandFacts) -> bool:
    company = found.organization.name if found.organization else None
    return company is not None and not is_employer(company, (brand.name, *brand.aliases))


def _charged(match: _Match) -> int:
    return 1 if match.person is not None and match.person.email else 0


def _sighting(person: _ApolloPerson | None, brand: BrandFacts) -> Sighting | None:
    if person is None:
        return None
    name = (person.name or f"{person.first_name or ''} {person.last_name or ''}").strip()
    if not name or not person.last_name:
        return None
    company = person.organization.name if person.organization else None
    address = (person.email or "").lower()
    return Sighting(
        full_name=name,
        first_name=person.first_name,
        last_name=person.last_name,
        headline=person.title or person.headline,
        company=company or brand.name,
        linkedin_url=person_page(person.linkedin_url or ""),
        addresses=(address,) if is_mailbox(address) else (),
        source=ApolloSource.name,
    )
