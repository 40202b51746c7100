"""Hunter's domain search, People Data Labs and Apollo, each in its own shapes."""

from collections.abc import Mapping
from typing import Any

from cs.sandbox.drawing import drawn
from cs.sandbox.folding import fold
from cs.sandbox.provider_shapes import PeopleFile
from cs.sandbox.providers.mailbox_state import MailboxTruth
from cs.sandbox.providers.provider import (
    BadQuestion,
    Provider,
    ProviderAnswer,
    body_of,
    in_header,
    told,
)
from cs.sandbox.providers.records import PeopleRecords, Record, convention_of
from cs.sandbox.providers.titles import sort_title
from cs.sandbox.shapes import Brand, World
from cs.sandbox.web import HttpReply, HttpRequest

#: How each calls the levels of `titles`.
_HUNTER_LEVELS = {"cxo": "executive", "vp": "executive", "director": "executive"}
_HUNTER_LEVELS |= {"head": "senior", "manager": "senior", "entry": "junior"}
_PDL_LEVELS = {"head": "director"}
_APOLLO_LEVELS = {"cxo": "c_suite"}
_PDL_ROLES = {"communication": "public_relations"}
_HUNTER_PATTERNS = {
    "first.last": "{first}.{last}",
    "flast": "{f}{last}",
    "first": "{first}",
    "last": "{last}",
    "firstl": "{first}{l}",
    "firstlast": "{first}{last}",
    "last.first": "{last}.{first}",
}
#: Addresses of one credit.
_OF_A_CREDIT = 10


def hunter_error(status: int, code: str, details: str) -> HttpReply:
    return told({"errors": [{"id": code, "code": status, "details": details}]}, status)


class HunterFile:
    """`/domain-search` and `/account`; its verifier is in `verifiers`."""

    def __init__(self, world: World, file: PeopleFile, mail: MailboxTruth) -> None:
        self._seed, self._mail, self._credits = world.seed, mail, file.credits
        self._records = PeopleRecords(world, "hunter", file)
        self._brands = {brand.domain: brand for brand in world.brands}

    def account(self, used: int) -> HttpReply:
        searches = {"used": used, "available": self._credits}
        return told({"data": {"email": "us@sandbox.test", "requests": {"searches": searches}}})

    def domain_search(self, request: HttpRequest) -> ProviderAnswer:
        query = request.query
        brand = self._brands.get(query.get("domain", ""))
        if "company" in query and "domain" not in query:
            brand = self._records.company(query["company"])
        elif "domain" not in query:
            reply = hunter_error(400, "wrong_params", "You are missing a domain or a company")
            return ProviderAnswer(reply=reply, line="hunter")
        limit = int(query.get("limit", "10"))
        records = [] if brand is None else self._wanted(brand, query)
        emails = [self._email(record) for record in records[:limit]]
        units = -(-len(emails) // _OF_A_CREDIT)
        return ProviderAnswer(
            reply=told(self._body(brand, query, emails)), line="hunter", units=units
        )

    def _wanted(self, brand: Brand, query: Mapping[str, str]) -> list[Record]:
        departments, seniorities = (
            set(filter(None, query.get(name, "").split(",")))
            for name in ("department", "seniority")
        )

        def is_wanted(record: Record) -> bool:
            title = sort_title(record.headline)
            return (not departments or title.department in departments) and (
                not seniorities or _HUNTER_LEVELS[title.level] in seniorities
            )

        at = self._records.at(brand.domain)
        return [record for record in at if record.address and is_wanted(record)]

    def _email(self, record: Record) -> dict[str, Any]:
        first, last = record.names
        title = sort_title(record.headline)
        has_page = drawn(self._seed, "hunter", "page", record.slug) < 0.6
        return {
            "value": record.address,
            "type": "personal",
            "confidence": 60 + int(drawn(self._seed, "hunter", "sure", record.slug) * 40),
            "sources": [],
            "first_name": first,
            "last_name": last,
            "position": record.headline,
            "seniority": _HUNTER_LEVELS[title.level],
            "department": title.department,
            "linkedin": f"https://www.linkedin.com/in/{record.slug}" if has_page else None,
            "twitter": None,
            "phone_number": None,
            "verification": {"date": None, "status": None},
        }

    def _body(
        self, brand: Brand | None, query: Mapping[str, str], emails: list[Any]
    ) -> dict[str, Any]:
        accepts_all = brand is not None and self._mail.accepts_all(brand)
        pattern = _HUNTER_PATTERNS[convention_of(brand)] if brand and emails else None
        data = {
            "domain": brand.domain if brand else query.get("domain"),
            "disposable": False,
            "webmail": False,
            "accept_all": accepts_all,
            "pattern": pattern,
            "organization": brand.name if brand else None,
            "emails": emails,
        }
        found = {"results": len(emails), "limit": 10, "offset": 0, "params": dict(query)}
        return {"data": data, "meta": found}


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
