"""People of Apollo (api.apollo.io/api/v1): a search that is free, then who is worth a credit.

The search (``POST /mixed_people/api_search``) tells titles and hides last names and addresses;
of those in a role that is looked for a few are asked for by id (``POST /people/match``), each
for a credit if an address comes with it.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cs.domain.names.employer import is_employer
from cs.domain.roles.role import classify
from cs.plugins.hosted import (
    BrandFacts,
    HostedSource,
    PeopleAdapter,
    Question,
    ServiceSettings,
    Sighting,
)
from cs.sources.adapters import (
    Burst,
    CallsPerS,
    Url,
    UsdPerCredit,
    brand_domain,
    parent_domain,
    person,
)

TITLES = (
    "influencer marketing",
    "creator partnerships",
    "social media",
    "brand partnerships",
    "brand marketing",
)
SENIORITIES = ("manager", "director", "head", "vp", "c_suite")


class ApolloSettings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of ``[sources.apollo]``; 600 calls an hour are its limit."""

    url: Url = "https://api.apollo.io/api/v1"
    calls_per_s: CallsPerS = 0.16
    burst: Burst = 20
    usd_per_call: UsdPerCredit = 0.05
    people: Annotated[
        int, Meta(ge=1, le=25, description="asked for by name in a search, each a credit")
    ] = 5


#: Its names of a person's fields.
_NAMES = {"full_name": "name", "headline": "title", "profile": "linkedin_url"}


class _Organization(msgspec.Struct):
    name: str | None = None


class _ApolloHit(msgspec.Struct):
    id: str = ""
    title: str | None = None
    has_email: bool | None = None
    organization: _Organization | None = None


class _Search(msgspec.Struct):
    people: tuple[_ApolloHit, ...] = ()


class _Match(msgspec.Struct):
    person: dict[str, Any] | None = None


async def people(
    source: HostedSource[ApolloSettings], brand: BrandFacts, limit: int, _: Sequence[Sighting]
) -> AsyncIterator[Sighting]:
    """Search the brand and its parent at once, then ask for those who are worth a credit."""
    domains = [each for each in (brand_domain(brand), parent_domain(brand)) if each]
    if brand_domain(brand) is None:
        return
    body = {
        "q_organization_domains_list": domains,
        "person_titles": list(TITLES),
        "person_seniorities": list(SENIORITIES),
        "page": 1,
        "per_page": 25,
    }
    asked = Question(path="/mixed_people/api_search", json=body, units=0)
    found = await source.ask(asked, _Search) or _Search()
    wanted = [each for each in found.people if each.id and _in_role(each)]
    # Those of the brand first, of them those with an address; else in Apollo's order.
    wanted.sort(key=lambda each: (_is_elsewhere(each, brand), not each.has_email))
    for each in wanted[: min(source.settings.people, limit)]:
        question = Question(path="/people/match", json={"id": each.id})
        match = await source.ask(question, _Match, _charged)
        found_person = match.person if match else None
        if found_person and found_person.get("last_name"):  # not half a name
            sighting = person(source.name, _record(found_person), _NAMES, brand.name)
            if sighting is not None:
                yield sighting


def _in_role(found: _ApolloHit) -> bool:
    return classify(found.title or "").eligible


def _is_elsewhere(found: _ApolloHit, brand: BrandFacts) -> bool:
    company = found.organization.name if found.organization else None
    return company is not None and not is_employer(company, (brand.name, *brand.aliases))


def _charged(match: _Match) -> int:
    return 1 if match.person and match.person.get("email") else 0


def _record(found: dict[str, Any]) -> dict[str, Any]:
    """Return *found* with a headline in any case, and the name of the employer."""
    match found.get("organization"):
        case {"name": str(company)}:
            pass
        case _:
            company = ""
    return {**found, "title": found.get("title") or found.get("headline"), "company": company}


ADAPTER = PeopleAdapter(
    name="apollo",
    settings=ApolloSettings,
    key_header="x-api-key",
    people=people,
    units=lambda settings: settings.people,
    trial=Question(
        path="/mixed_people/api_search",
        json={"q_organization_domains_list": ["no-company.invalid"], "per_page": 1},
        units=0,
    ),
)
from_context = ADAPTER.from_context
