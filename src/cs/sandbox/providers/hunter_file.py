"""Hunter's domain search, over the records of a world; its verifier is in `verifiers`."""

from collections.abc import Mapping
from typing import Any

from cs.domain.mail.patterns import TEMPLATES
from cs.sandbox.drawing import drawn
from cs.sandbox.provider_shapes import PeopleFile
from cs.sandbox.providers.mailbox_state import MailboxTruth
from cs.sandbox.providers.provider import ProviderAnswer, told
from cs.sandbox.providers.records import PeopleRecords, Record, convention_of
from cs.sandbox.providers.titles import sort_title
from cs.sandbox.shapes import Brand, World
from cs.sandbox.web import HttpReply, HttpRequest

#: What Hunter calls the levels of `titles`.
_HUNTER_LEVELS = {"cxo": "executive", "vp": "executive", "director": "executive"}
_HUNTER_LEVELS |= {"head": "senior", "manager": "senior", "entry": "junior"}
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
        pattern = TEMPLATES[convention_of(brand)] if brand and emails else None
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
