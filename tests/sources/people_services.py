"""What the people services with a key answer: their real shapes, and their real faults."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cs.outside.port import ApiClient, Response
from cs.paid_calls.budgets import UNLIMITED, Budgets
from cs.plugins.contracts.stand_in import ServiceRequest
from cs.plugins.entry_points import Group
from cs.plugins.sources import SourceContext
from harness.clients import plugin

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
KEY = "s3cret-of-ours"
JANE = "https://www.linkedin.com/in/jane-doe-1a"
JOSE = "https://www.linkedin.com/in/jose-nunez"
LINES = (
    ("Jane Doe - Head of Influencer Marketing - Acme | LinkedIn", JANE),
    ("José Núñez - Social Media Manager - Acme Germany GmbH | LinkedIn", JOSE + "/de"),
)
OTHERS = (
    ("Al Roe - Head of Social at Beta | ex-Acme | LinkedIn", "https://linkedin.com/in/al"),
    ("Cy Roe - Influencer Lead - Acme Robotics | LinkedIn", "https://linkedin.com/in/cy"),
    ("Acme | LinkedIn", "https://www.linkedin.com/company/acme"),
)

Respond = Callable[[ServiceRequest], Response]


def ok(body: Any, **headers: str) -> Response:
    return error(200, body, **headers)


def says(asked: ServiceRequest) -> str:
    return f"{asked.path} {dict(asked.params)} {asked.json}"


def of_acme(asked: ServiceRequest) -> bool:
    return "Acme" in says(asked) or "acme.example" in says(asked)


def always(answer: Response) -> Respond:
    return lambda _: answer


def error(status: int, body: Any = None, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    said = json.dumps({"message": "no"} if body is None else body).encode()
    return Response(status=status, headers=named, body=said, url="")


# Shapes.


def brave_says(asked: ServiceRequest) -> Response:
    described = {
        "description": "Berlin · <strong>Acme</strong> · 500+ connections on LinkedIn.",
        "extra_snippets": ["Experience: Acme"],
        "profile": {"name": "LinkedIn"},
    }
    lines = [*OTHERS, *LINES] if of_acme(asked) else OTHERS
    results = [{"title": title, "url": url, **described} for title, url in lines]
    return ok(
        {"type": "search", "web": {"type": "search", "results": results}},
        x_ratelimit_limit="1, 15000",
        x_ratelimit_policy="1;w=1, 15000;w=2592000",
        x_ratelimit_remaining="0, 14523",
        x_ratelimit_reset="1, 1234567",
    )


def serper_says(asked: ServiceRequest) -> Response:
    lines = [*OTHERS, *LINES] if of_acme(asked) else OTHERS
    organic = [
        {"title": title, "link": url, "snippet": "Berlin · Acme", "position": place}
        for place, (title, url) in enumerate(lines, 1)
    ]
    return ok({"searchParameters": {"q": "q", "num": 100}, "organic": organic, "credits": 2})


def hunter_email(value: str, first: str | None, last: str | None, **more: Any) -> Any:
    names = {"first_name": first, "last_name": last, "position": None, "linkedin": None}
    return {"value": value, "type": "personal", "confidence": 94, **names, **more}


def hunter_says(asked: ServiceRequest) -> Response:
    if asked.path.endswith("/account"):
        searches = {"used": 400, "available": 1000}
        return ok({"data": {"email": "us@op.example", "requests": {"searches": searches}}})
    emails = [
        hunter_email(
            "Jane.Doe@acme.example",
            *("Jane", "Doe"),
            position="Head of Influencer Marketing",
            linkedin="https://www.linkedin.com/in/jane-doe-1a",
        ),
        hunter_email("j.nunez@acme.example", "José", "Núñez", position="Social Media Manager"),
        hunter_email("press@acme.example", None, None, type="generic"),
    ]
    data = {"domain": "acme.example", "organization": "Acme", "accept_all": True}
    data |= {"disposable": False, "webmail": False, "emails": emails if of_acme(asked) else []}
    return ok({"data": data, "meta": {"results": 3, "limit": 10, "offset": 0, "params": {}}})


def pdl_person(name: str, title: str, page: str) -> Any:
    first, _, last = name.partition(" ")
    names = {"full_name": name, "first_name": first, "last_name": last}
    # As plans without contact data have them.
    hidden = {"work_email": True, "location_name": True}
    job = {"job_title": title, "job_company_name": "Acme", "linkedin_url": page}
    return {"id": "qEnOZ5Oh0poWnQ1luFBfVw_0000", **names, **job, **hidden}


def pdl_says(asked: ServiceRequest) -> Response:
    if not of_acme(asked):
        missing = {"type": "not_found", "message": "No records were found"}
        return error(404, {"status": 404, "error": missing})
    people = [
        pdl_person("Jane Doe", "Head Of Influencer Marketing", "linkedin.com/in/jane-doe-1a"),
        pdl_person("José Núñez", "Social Media Manager", "linkedin.com/in/jose-nunez"),
    ]
    found = {"status": 200, "data": people[: asked.json["size"]], "total": 57}
    return ok(found, x_ratelimit_remaining="{'minute': 9}", x_totallimit_remaining="880")


APOLLO = {
    "a1": ("Jane", "Doe", "Head of Influencer Marketing", JANE),
    "a2": ("José", "Núñez", "Social Media Manager", JOSE),
    "a3": ("Al", "Roe", "Accountant", "http://www.linkedin.com/in/al"),
}


def apollo_says(asked: ServiceRequest) -> Response:
    if asked.path.endswith("/people/match"):
        first, last, title, page = APOLLO[asked.json["id"]]
        person = {"id": asked.json["id"], "title": title, "headline": f"{title} at Acme"}
        person |= {"first_name": first, "last_name": last, "name": f"{first} {last}"}
        email = f"{first.lower()}@acme.example" if first == "Jane" else None
        more = {"linkedin_url": page.replace("https", "http"), "organization": {"name": "Acme"}}
        return ok({"person": {**person, "email": email, **more}})
    people = [
        {
            "id": key,
            "first_name": first,
            "last_name_obfuscated": f"{last[0]}***{last[-1]}",
            "title": title,
            "has_email": first == "Jane",
            "organization": {"name": "Acme", "has_industry": True},
        }
        for key, (first, last, title, _) in APOLLO.items()
    ]
    return ok({"total_entries": 3, "people": people if of_acme(asked) else []})


@dataclass
class Service:
    """One service: how its adapter is made, and what it answers when all is well.

    Attributes:
        calls: Requests of one run about Acme, and dollars of it.
        check_left: What its check says is left.
        own_faults: Status, headers and body; how the run ends, whether it is for the operator.
    """

    name: str
    says: Respond
    key_header: str
    calls: int
    usd: float
    check_usd: float
    check_left: str | None = None
    own_faults: Sequence[tuple[Response, str, bool]] = field(default_factory=list)


SERVICES = [
    Service(
        "brave",
        brave_says,
        "x-subscription-token",
        4,
        0.020,
        0.005,
        check_left="14,523 of 15,000 questions",
        own_faults=[
            (
                error(429, x_ratelimit_remaining="0, 99", x_ratelimit_reset="1, 99999"),
                *("rate_limited", False),
            ),
            (
                error(429, x_ratelimit_remaining="1, 0", x_ratelimit_reset="1, 99999"),
                *("failed", True),
            ),
            (error(429, x_ratelimit_remaining="x, nan"), "rate_limited", False),
        ],
    ),
    Service(
        "serper",
        serper_says,
        "x-api-key",
        2,
        0.004,
        0.001,
        own_faults=[(error(400, {"message": "Not enough credits"}), "failed", False)],
    ),
    Service(
        "hunter",
        hunter_says,
        "x-api-key",
        1,
        0.05,
        0.0,
        check_left="600 of 1,000 searches",
        own_faults=[
            (error(403, {"errors": [{"id": "too_many"}]}), "rate_limited", False),
            (error(429, {"errors": [{"id": "usage"}]}), "failed", True),
        ],
    ),
    Service("pdl", pdl_says, "x-api-key", 1, 0.56, 0.0),
    Service("apollo", apollo_says, "x-api-key", 3, 0.05, 0.0),
]


def source_of(
    service: Service,
    client: ApiClient,
    *,
    key: str = KEY,
    budgets: Budgets = UNLIMITED,
    group: Group = Group.PEOPLE_SOURCES,
    **settings: Any,
) -> Any:
    """Return the adapter of *service*, asking through *client*."""
    context = SourceContext(
        trusted=client,
        guarded=client,
        settings={"key": key, **settings} if key else settings,
        now=lambda: NOW,
        budgets=budgets,
    )
    return plugin(group, service.name, context)
