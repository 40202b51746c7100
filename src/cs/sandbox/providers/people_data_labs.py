"""People Data Labs' person search and company file, over the records of a world."""

from typing import Any

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
from cs.sandbox.web import HttpReply, HttpRequest

#: What it calls the levels and departments of `titles`, where it has another word.
_PDL_LEVELS = {"head": "director"}
_PDL_ROLES = {"communication": "public_relations"}


def people_data_labs(world: World, file: PeopleFile) -> Provider:
    """Return the person search, charged by record, and the company file."""
    records = PeopleRecords(world, "pdl", file)

    def nothing(line: str) -> ProviderAnswer:
        error = {"type": "not_found", "message": "No records were found matching your search"}
        return ProviderAnswer(reply=told({"status": 404, "error": error}, 404), line=line)

    def person_search(request: HttpRequest) -> ProviderAnswer:
        asked = body_of(request)
        domain, roles, levels, without = _pdl_query(asked)
        found = [
            _pdl_person(record)
            for record in records.at(domain)
            if _pdl_sorted(record)[0] in roles
            and _pdl_sorted(record)[1] in levels
            and not {f"linkedin.com/in/{record.slug}", record.person.name.lower()} & without
        ]
        size = int(asked.get("size", 1))
        if not found or not 1 <= size <= 100:
            return nothing("pdl")
        page = found[:size]
        answer = {"status": 200, "data": page, "scroll_token": None, "total": len(found)}
        headers = {"x-call-credits-spent": str(len(page))}
        return ProviderAnswer(reply=told(answer, headers=headers), line="pdl", units=len(page))

    def company_enrich(request: HttpRequest) -> ProviderAnswer:
        brand = records.company(request.query.get("name", ""))
        if brand is None:
            return nothing("pdl_company")
        answer = {
            "status": 200,
            "likelihood": 8,
            "name": brand.name.lower(),
            "display_name": brand.name,
            "website": brand.domain,
            "linkedin_url": f"linkedin.com/company/{brand.linkedin}"
            if brand.linkedin
            else None,
            "alternative_names": list(brand.aliases),
            "size": "51-200",
            "employee_count": len(brand.people),
        }
        return ProviderAnswer(reply=told(answer), line="pdl_company", units=1)

    def answer(request: HttpRequest) -> ProviderAnswer:
        match request.path:
            case "/person/search":
                return person_search(request)
            case "/company/enrich":
                return company_enrich(request)
            case path:
                raise BadQuestion(f"no such path: {path}")

    def error(status: int, kind: str, message: str) -> HttpReply:
        return told({"status": status, "error": {"type": kind, "message": message}}, status)

    return Provider(
        name="pdl",
        key_of=in_header("x-api-key"),
        refused=error(401, "authentication_error", "Request contained a missing or bad key"),
        empty=error(402, "payment_required", "You have hit your account maximum"),
        answer=answer,
    )


def _pdl_sorted(record: Record) -> tuple[str, str]:
    title = sort_title(record.headline)
    role = _PDL_ROLES.get(title.department, title.department)
    return role, _PDL_LEVELS.get(title.level, title.level)


def _pdl_query(asked: dict[str, Any]) -> tuple[str, set[str], set[str], set[str]]:
    """Return employer, roles, levels and who is left out, of the form that is played."""
    try:
        terms: dict[str, Any] = {}
        for each in asked["query"]["bool"]["must"]:
            terms |= each.get("term") or each["terms"]
        without = asked["query"]["bool"].get("must_not", ())
        named = [name for each in without for told in each["terms"].values() for name in told]
        return (
            terms["job_company_website"],
            set(terms["job_title_role"]),
            set(terms["job_title_levels"]),
            set(named),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise BadQuestion("a bool query for employer, roles and levels is played") from error


def _pdl_person(record: Record) -> dict[str, Any]:
    first, last = record.names
    role, level = _pdl_sorted(record)
    return {
        "id": record.id,
        "full_name": record.person.name,
        "first_name": first,
        "last_name": last,
        "work_email": record.address or False,  # a boolean where it shows none
        "job_title": record.headline,
        "job_title_role": role,
        "job_title_levels": [level],
        "job_company_name": record.employer.name,
        "job_company_website": record.employer.domain,
        "linkedin_url": f"linkedin.com/in/{record.slug}",
        "location_name": record.person.location,
    }
