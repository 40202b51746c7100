"""Apollo's people search and match, over the records of a world."""

from typing import Any

from cs.sandbox.folding import fold
from cs.sandbox.provider_shapes import PeopleFile
from cs.sandbox.providers.provider import (
    BadQuestion,
    Provider,
    ProviderAnswer,
    body_of,
    in_header,
    told,
)
from cs.sandbox.providers.records import PeopleRecords, Record
from cs.sandbox.providers.titles import sort_title
from cs.sandbox.shapes import World
from cs.sandbox.web import HttpRequest

#: What it calls the levels of `titles`, where it has another word.
_APOLLO_LEVELS = {"cxo": "c_suite"}


def apollo(world: World, file: PeopleFile) -> Provider:
    """Return the search, which is free and hides names, and the match, which costs a credit."""
    records = PeopleRecords(world, "apollo", file)

    def search(request: HttpRequest) -> ProviderAnswer:
        asked = body_of(request)
        titles = [fold(each).split() for each in asked.get("person_titles", ())]
        levels = set(asked.get("person_seniorities", ()))

        def is_wanted(record: Record) -> bool:
            words = fold(record.headline)
            level = sort_title(record.headline).level
            return (not levels or _APOLLO_LEVELS.get(level, level) in levels) and (
                not titles or any(all(word in words for word in title) for title in titles)
            )

        domains = asked.get("q_organization_domains_list", ())
        found = [each for domain in domains for each in records.at(domain) if is_wanted(each)]
        shown = found[: int(asked.get("per_page", 10))]
        answer = {
            "total_entries": len(found),
            "people": [_apollo_found(each) for each in shown],
        }
        return ProviderAnswer(reply=told(answer), line="apollo")

    def match_person(request: HttpRequest) -> ProviderAnswer:
        record = records.get(str(body_of(request).get("id", "")))
        if record is None:
            return ProviderAnswer(reply=told({"person": None}), line="apollo")
        units = 1 if record.address else 0
        reply = told({"person": _apollo_person(record)})
        return ProviderAnswer(reply=reply, line="apollo", units=units)

    def answer(request: HttpRequest) -> ProviderAnswer:
        match request.path:
            case "/mixed_people/api_search":
                return search(request)
            case "/people/match":
                return match_person(request)
            case path:
                raise BadQuestion(f"no such path: {path}")

    return Provider(
        name="apollo",
        key_of=in_header("x-api-key"),
        refused=told({"error": "Invalid access credentials."}, 401),
        empty=told({"error": "You have insufficient credits!"}, 402),
        answer=answer,
    )


def _apollo_found(record: Record) -> dict[str, Any]:
    first, last = record.names
    hidden = f"{last[:1]}***{last[-1:]}"
    return {
        "id": record.id,
        "first_name": first,
        "last_name_obfuscated": hidden,
        "title": record.headline,
        "has_email": record.address is not None,
        "organization": {"name": record.employer.name},
    }


def _apollo_person(record: Record) -> dict[str, Any]:
    first, last = record.names
    site = f"http://www.{record.employer.domain}"
    return {
        "id": record.id,
        "first_name": first,
        "last_name": last,
        "name": record.person.name,
        "linkedin_url": f"http://www.linkedin.com/in/{record.slug}",
        "title": record.headline,
        "headline": record.headline,
        "email": record.address,
        "email_status": "verified" if record.address else None,
        "organization": {"name": record.employer.name, "website_url": site},
    }
