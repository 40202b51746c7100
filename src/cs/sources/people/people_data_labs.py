"""People of People Data Labs (api.peopledatalabs.com/v5, ``POST /person/search``).

It charges for each record that it returns, so employer, role and level are in the query, who
is known from others is left out there, and few records are asked for.  Where it knows no people
it answers 404 and charges nothing.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cs.plugins.hosted import (
    BrandFacts,
    HostedSource,
    PeopleAdapter,
    Question,
    Response,
    ServiceSettings,
    Sighting,
)
from cs.sources.adapters import Burst, CallsPerS, Url, brand_domain, parent_domain, person

#: The people to ask for, in its words (canonical job title roles and levels).
ROLES = ("marketing", "public_relations")
#: People at most who are left out by name, and by profile.
KNOWN = 100
LEVELS = ("manager", "director", "vp", "cxo")


class PdlSettings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of ``[sources.pdl]``; 10 searches a minute are its default limit."""

    url: Url = "https://api.peopledatalabs.com/v5"
    calls_per_s: CallsPerS = 0.16
    burst: Burst = 2
    usd_per_call: Annotated[float, Meta(ge=0, le=1000, description="of one record")] = 0.28
    records: Annotated[int, Meta(ge=1, le=100, description="of a search, each charged")] = 5


#: Its names of a person's fields; on plans that do not show one it is true or false.
_NAMES = {
    "headline": "job_title",
    "company": "job_company_name",
    "profile": "linkedin_url",
    "email": "work_email",
    "location": "location_name",
}


class _PdlAnswer(msgspec.Struct):
    data: tuple[dict[str, Any], ...] = ()


def search(domain: str, *, size: int, known: Sequence[Sighting] = ()) -> dict[str, Any]:
    """Return the body that asks for *size* people in the roles that are looked for.

    Those *known* are left out by profile, or by name where theirs is not known; both are
    keywords in its mapping, in lower case.  They are sorted: work that is done again asks the
    same question, which is paid once.
    """
    asked: dict[str, Any] = {
        "must": [
            {"term": {"job_company_website": domain}},
            {"terms": {"job_title_role": list(ROLES)}},
            {"terms": {"job_title_levels": list(LEVELS)}},
        ]
    }
    pages = {_page(each.linkedin_url) for each in known if each.linkedin_url}
    names = {each.full_name.lower() for each in known if not each.linkedin_url}
    left_out = {"linkedin_url": sorted(pages)[:KNOWN], "full_name": sorted(names)[:KNOWN]}
    without = [{"terms": {field: told}} for field, told in left_out.items() if told]
    if without:
        asked["must_not"] = without
    return {"query": {"bool": asked}, "size": size, "titlecase": True}


def _page(url: str) -> str:
    """Return a profile as it is written there: ``linkedin.com/in/jane-doe``."""
    return url.lower().partition("://")[2].removeprefix("www.").rstrip("/")


async def people(
    source: HostedSource[PdlSettings],
    brand: BrandFacts,
    limit: int,
    known: Sequence[Sighting],
) -> AsyncIterator[Sighting]:
    """Ask for the brand's people, and for what is then missing for its parent's."""
    most = min(source.settings.records, max(limit, 1))
    asked = (
        (brand_domain(brand), brand.name),
        (parent_domain(brand), brand.parent_company),
    )
    for domain, company in asked:
        if domain is None or most <= 0:
            continue
        body = search(domain, size=most, known=known)
        question = Question(path="/person/search", json=body, units=most)
        found = await source.ask(question, _PdlAnswer, lambda it: len(it.data))
        for each in found.data if found else ():
            most -= 1
            sighting = person(source.name, each, _NAMES, company or brand.name)
            if sighting is not None:
                yield sighting


def left(answer: Response) -> str | None:
    """Return the records that *answer* says are left."""
    left = answer.headers.get("x-totallimit-remaining", "")
    return f"{int(left):,} records" if left.isdecimal() and len(left) < 12 else None


ADAPTER = PeopleAdapter(
    name="pdl",
    settings=PdlSettings,
    key_header="x-api-key",
    people=people,
    units=lambda settings: settings.records,
    # No people there, and 404 is not charged.
    trial=Question(path="/person/search", json=search("no-company.invalid", size=1)),
    left=left,
)
from_context = ADAPTER.from_context
