"""People whose addresses Hunter has seen (api.hunter.io/v2, ``/domain-search``).

A search costs one credit for up to ten addresses, and nothing where none is found.  **What it
names is a candidate, never proof**: its addresses are not verified, and may be old.  By 403 it
means "too fast" and by 429 "no credits left", the other way round than other services.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cs.plugins.hosted import (
    BrandFacts,
    HostedSource,
    PeopleAdapter,
    ProblemKind,
    Question,
    Response,
    ServiceSettings,
    Sighting,
    fields,
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

#: Addresses that one credit pays for.
OF_A_CREDIT = 10
#: Departments and levels that may run influencer marketing, in Hunter's words.
DEPARTMENTS = "marketing,communication,management"
SENIORITIES = "senior,executive"


class HunterSettings(ServiceSettings, frozen=True, kw_only=True):
    """Settings of ``[sources.hunter]``; limits are Hunter's own: 15 a second, 500 a minute."""

    url: Url = "https://api.hunter.io/v2"
    calls_per_s: CallsPerS = 8.0
    burst: Burst = 5
    usd_per_call: UsdPerCredit = 0.05
    addresses: Annotated[
        int, Meta(ge=1, le=100, description="asked for in a search; ten cost a credit")
    ] = 10


#: Its names of a person's fields.
_NAMES = {"email": "value", "headline": "position", "profile": "linkedin"}


class _Data(msgspec.Struct):
    organization: str | None = None
    webmail: bool | None = None
    disposable: bool | None = None
    emails: tuple[dict[str, Any], ...] = ()


class _HunterAnswer(msgspec.Struct):
    data: _Data


async def people(
    source: HostedSource[HunterSettings], brand: BrandFacts, limit: int, _: Sequence[Sighting]
) -> AsyncIterator[Sighting]:
    """Ask for the brand's people; for its parent's only where there are none.

    A credit is for an answer with a person in it, so the second question costs no more.
    """
    domain, parent = brand_domain(brand), parent_domain(brand)
    about = {"domain": domain} if domain else {"company": brand.name}
    found = await _people_at(source, about, brand.name, limit)
    if not found and parent is not None:
        employer = brand.parent_company or ""
        found = await _people_at(source, {"domain": parent}, employer, limit)
    for each in found:
        yield each


async def _people_at(
    source: HostedSource[HunterSettings], about: dict[str, str], company: str, limit: int
) -> list[Sighting]:
    most = source.settings.addresses
    params = {
        **about,
        "type": "personal",
        "department": DEPARTMENTS,
        "seniority": SENIORITIES,
        "limit": str(min(most, max(limit, 1))),
    }
    question = Question(path="/domain-search", params=params, units=_credits(most))
    found = await source.ask(question, _HunterAnswer, _charged)
    # The domain of a mail service is no company's own.
    if found is None or found.data.webmail or found.data.disposable:
        return []
    employer = found.data.organization or company
    read = (person(source.name, each, _NAMES, employer) for each in found.data.emails)
    return [each for each in read if each is not None]


def left(answer: Response) -> str | None:
    """Return the searches that *answer* says are left."""
    match fields(answer):
        case {"data": {"requests": {"searches": {"used": int(used), "available": int(most)}}}}:
            return f"{most - used:,} of {most:,} searches"
        case _:
            return None


def _credits(addresses: int) -> int:
    return -(-addresses // OF_A_CREDIT)


def _charged(answer: _HunterAnswer) -> int:
    return _credits(len(answer.data.emails))


ADAPTER = PeopleAdapter(
    name="hunter",
    settings=HunterSettings,
    key_header="x-api-key",
    people=people,
    units=lambda settings: _credits(settings.addresses),
    trial=Question(path="/account", units=0),
    statuses={403: ProblemKind.RATE_LIMITED, 429: ProblemKind.NO_CREDITS},
    left=left,
)
from_context = ADAPTER.from_context
