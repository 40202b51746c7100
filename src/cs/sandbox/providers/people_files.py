"""Files of people over a world, some of it missing, old or wrong: Hunter's, PDL's, Apollo's."""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from cs.domain.mail.patterns import TEMPLATES, local_part
from cs.sandbox.drawing import drawn, fold
from cs.sandbox.page_index import profile_slug
from cs.sandbox.providers import BadQuestion, Provider, ProviderAnswer, Route, body_of
from cs.sandbox.servers import HttpReply, HttpRequest, json_reply
from cs.sandbox.shapes import Brand, PeopleFile, Person, World

_USUAL = "first.last"
_DEPARTMENTS = (
    (
        "marketing",
        re.compile(
            r"market|social|influenc|creator|brand|partner|ambassador|communit|content|campaign"
        ),
    ),
    ("communication", re.compile(r"communicat|public relations|\bpr\b|press")),
    ("other", re.compile("")),
)
_LEVELS = (
    ("cxo", re.compile(r"\bchief\b|\bcmo\b|\bceo\b|founder")),
    ("vp", re.compile(r"\bvp\b|vice president")),
    ("director", re.compile(r"direct")),
    ("head", re.compile(r"\bhead\b|\bleit")),
    ("manager", re.compile(r"manager|\blead\b|responsable")),
    ("entry", re.compile("")),
)
#: By provider, its words for levels and departments where they differ.
_HUNTER_LEVELS = {
    "cxo": "executive",
    "vp": "executive",
    "director": "executive",
    "head": "senior",
    "manager": "senior",
    "entry": "junior",
}
_PDL_LEVELS = {"head": "director"}
_PDL_ROLES = {"communication": "public_relations"}
_APOLLO_LEVELS = {"cxo": "c_suite"}
#: Addresses of one credit at Hunter.
_OF_A_CREDIT = 10


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: *person*, who is at *employer* in the file with that headline and address."""

    id: str
    person: Person
    employer: Brand
    headline: str
    slug: str
    address: str | None

    @property
    def names(self) -> dict[str, str]:
        first, _, last = self.person.name.partition(" ")
        return {"first_name": first, "last_name": last}

    @property
    def department(self) -> str:
        """Return the department of the headline, as roughly as such files do."""
        text = fold(self.headline)
        return next(name for name, words in _DEPARTMENTS if words.search(text))

    @property
    def level(self) -> str:
        text = fold(self.headline)
        return next(name for name, words in _LEVELS if words.search(text))


class PeopleRecords:
    """The records of the provider *name*; each provider knows other people."""

    def __init__(self, world: World, name: str, file: PeopleFile) -> None:
        self._world, self._name, self._file = world, name, file
        self._brands = {brand.name: brand for brand in world.brands}
        self._by_domain: dict[str, list[Record]] = defaultdict(list)
        self.by_id: dict[str, Record] = {}
        for brand in world.brands:
            for person in brand.people:
                slug = profile_slug(world.seed, brand, person)
                if self._is_drawn("knows", slug, file.coverage):
                    record = self._record(brand, person, slug)
                    self._by_domain[record.employer.domain].append(record)
                    self.by_id[record.id] = record

    def at(self, domain: str) -> Sequence[Record]:
        """Return who works at the company whose site is at *domain*, as the file has it."""
        return self._by_domain.get(domain, ())

    def company(self, name: str) -> Brand | None:
        """Return the company called *name*, if the file has it."""
        for brand in self._world.brands:
            if fold(name) in map(fold, (brand.name, *brand.aliases)):
                known = self._is_drawn("company", brand.domain, self._file.companies)
                return brand if known else None
        return None

    def _draw(self, what: str, about: str) -> float:
        return drawn(self._world.seed, self._name, what, about)

    def _is_drawn(self, what: str, about: str, share: float) -> bool:
        return self._draw(what, about) < share

    def _record(self, brand: Brand, person: Person, slug: str) -> Record:
        employer, headline = brand, person.headline
        if person.before and self._is_drawn("outdated", slug, self._file.outdated):
            employer, headline = self._brands[person.before.brand], person.before.headline
        elif self._is_drawn("misplaced", slug, self._file.misplaced):
            every = self._world.brands
            employer = every[int(self._draw("where", slug) * len(every))]
        return Record(
            id=f"{int(self._draw('id', slug) * 16**12):012x}",
            person=person,
            employer=employer,
            headline=headline,
            slug=slug,
            address=self._address(person, slug, employer, is_now=employer is brand),
        )

    def _address(
        self, person: Person, slug: str, employer: Brand, *, is_now: bool
    ) -> str | None:
        if not self._is_drawn("address", slug, self._file.addresses):
            return None
        domain = employer.mail_domain or employer.domain
        if is_now and not self._is_drawn("invented", slug, self._file.invented):
            return f"{person.mailbox}@{domain}" if person.mailbox else None
        # At a former employer the one that they had there; an invented one is the usual.
        convention = _USUAL if is_now else _convention_of(employer)
        return f"{local_part(convention, *_plain(person.name))}@{domain}"


def _convention_of(brand: Brand) -> str:
    """Return how *brand* makes addresses; the usual way where its people do not show it."""
    for person in brand.people:
        for pattern in TEMPLATES:
            if person.mailbox == local_part(pattern, *_plain(person.name)):
                return pattern
    return _USUAL


def _plain(name: str) -> tuple[str, str]:
    first, _, last = (re.sub(r"[^a-z ]", "", fold(name)) or "member").partition(" ")
    return first, last.replace(" ", "") or first


def hunter_file(world: World, file: PeopleFile, verify: Route) -> Provider:
    """Return Hunter: domain search, account, and *verify*, its verifier."""
    records = PeopleRecords(world, "hunter", file)
    brands = {brand.domain: brand for brand in world.brands}
    used = 0

    def error(status: int, code: str, details: str) -> HttpReply:
        return json_reply(
            {"errors": [{"id": code, "code": status, "details": details}]}, status
        )

    def email(record: Record) -> dict[str, Any]:
        has_page = drawn(world.seed, "hunter", "page", record.slug) < 0.6
        return {
            "value": record.address,
            **record.names,
            "position": record.headline,
            "linkedin": f"https://www.linkedin.com/in/{record.slug}" if has_page else None,
        }

    def search(request: HttpRequest) -> ProviderAnswer:
        nonlocal used
        query = request.query
        if "domain" in query:
            brand = brands.get(query["domain"])
        elif "company" in query:
            brand = records.company(query["company"])
        else:
            reply = error(400, "wrong_params", "A domain or a company is missing")
            return ProviderAnswer(reply=reply, line="hunter")
        departments, seniorities = (
            set(filter(None, query.get(name, "").split(",")))
            for name in ("department", "seniority")
        )
        wanted = [
            record
            for record in ([] if brand is None else records.at(brand.domain))
            if record.address
            and (not departments or record.department in departments)
            and (not seniorities or _HUNTER_LEVELS[record.level] in seniorities)
        ]
        emails = [email(record) for record in wanted[: int(query.get("limit", "10"))]]
        data = {"organization": brand.name if brand else None, "emails": emails}
        units = -(-len(emails) // _OF_A_CREDIT)
        used += units
        return ProviderAnswer(reply=json_reply({"data": data}), line="hunter", units=units)

    def account(_: HttpRequest) -> ProviderAnswer:
        requests = {"searches": {"used": used, "available": file.credits}}
        return ProviderAnswer(reply=json_reply({"data": {"requests": requests}}), line="hunter")

    return Provider(
        name="hunter",
        key=("header", "x-api-key"),
        refused=error(401, "authentication_failed", "No user found for the API key"),
        # Its words for used-up credits; 403 is its rate limit.
        empty=error(429, "too_many_requests", "You have reached your usage limit"),
        routes={"/domain-search": search, "/email-verifier": verify, "/account": account},
    )


def people_data_labs(world: World, file: PeopleFile) -> Provider:
    """Return the person search, charged by record, and the company file."""
    records = PeopleRecords(world, "pdl", file)

    def error(status: int, kind: str, message: str) -> HttpReply:
        return json_reply(
            {"status": status, "error": {"type": kind, "message": message}}, status
        )

    nothing = error(404, "not_found", "No records were found matching your search")

    def person_search(request: HttpRequest) -> ProviderAnswer:
        asked = body_of(request)
        terms, without = _pdl_query(asked)
        found = [
            person
            for record in records.at(terms["job_company_website"])
            if (person := _pdl_person(record))["job_title_role"] in terms["job_title_role"]
            and person["job_title_levels"][0] in terms["job_title_levels"]
            and not {person["linkedin_url"], record.person.name.lower()} & without
        ]
        size = int(asked.get("size", 1))
        if not found or not 1 <= size <= 100:
            return ProviderAnswer(reply=nothing, line="pdl")
        page = found[:size]
        answer = {"status": 200, "data": page, "total": len(found)}
        return ProviderAnswer(reply=json_reply(answer), line="pdl", units=len(page))

    def company_enrich(request: HttpRequest) -> ProviderAnswer:
        brand = records.company(request.query.get("name", ""))
        if brand is None:
            return ProviderAnswer(reply=nothing, line="pdl_company")
        page = f"linkedin.com/company/{brand.linkedin}" if brand.linkedin else None
        answer = {
            "status": 200,
            "name": brand.name.lower(),
            "display_name": brand.name,
            "website": brand.domain,
            "linkedin_url": page,
            "alternative_names": list(brand.aliases),
        }
        return ProviderAnswer(reply=json_reply(answer), line="pdl_company", units=1)

    return Provider(
        name="pdl",
        key=("header", "x-api-key"),
        refused=error(401, "authentication_error", "Request contained a missing or bad key"),
        empty=error(402, "payment_required", "You have hit your account maximum"),
        routes={"/person/search": person_search, "/company/enrich": company_enrich},
    )


def _pdl_query(asked: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Return the terms of the form that is played, and the names that are left out."""
    try:
        query = asked["query"]["bool"]
        terms: dict[str, Any] = {}
        for each in query["must"]:
            terms |= each.get("term") or each["terms"]
        lists = [each["terms"].values() for each in query.get("must_not", ())]
        without = {name for values in lists for names in values for name in names}
    except (KeyError, TypeError, AttributeError) as error:
        raise BadQuestion("a bool query for employer, roles and levels is played") from error
    if not {"job_company_website", "job_title_role", "job_title_levels"} <= terms.keys():
        raise BadQuestion("a bool query for employer, roles and levels is played")
    return terms, without


def _pdl_person(record: Record) -> dict[str, Any]:
    return {
        "full_name": record.person.name,
        **record.names,
        "work_email": record.address or False,  # a boolean where it shows none
        "job_title": record.headline,
        "job_title_role": _PDL_ROLES.get(record.department, record.department),
        "job_title_levels": [_PDL_LEVELS.get(record.level, record.level)],
        "job_company_name": record.employer.name,
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
            return (
                not levels or _APOLLO_LEVELS.get(record.level, record.level) in levels
            ) and (not titles or any(all(word in words for word in title) for title in titles))

        domains = asked.get("q_organization_domains_list", ())
        found = [each for domain in domains for each in records.at(domain) if is_wanted(each)]
        people = [
            {
                "id": record.id,
                "title": record.headline,
                "has_email": record.address is not None,
                "organization": {"name": record.employer.name},
            }
            for record in found[: int(asked.get("per_page", 10))]
        ]
        answer = {"total_entries": len(found), "people": people}
        return ProviderAnswer(reply=json_reply(answer), line="apollo")

    def match_person(request: HttpRequest) -> ProviderAnswer:
        record = records.by_id.get(str(body_of(request).get("id", "")))
        if record is None:
            return ProviderAnswer(reply=json_reply({"person": None}), line="apollo")
        person = {
            "id": record.id,
            **record.names,
            "name": record.person.name,
            "linkedin_url": f"http://www.linkedin.com/in/{record.slug}",
            "title": record.headline,
            "email": record.address,
            "organization": {"name": record.employer.name},
        }
        units = 1 if record.address else 0
        return ProviderAnswer(reply=json_reply({"person": person}), line="apollo", units=units)

    return Provider(
        name="apollo",
        key=("header", "x-api-key"),
        refused=json_reply({"error": "Invalid access credentials."}, 401),
        empty=json_reply({"error": "You have insufficient credits!"}, 402),
        routes={"/mixed_people/api_search": search, "/people/match": match_person},
    )
