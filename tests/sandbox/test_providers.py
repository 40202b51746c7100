"""The providers of a world, asked by the service's adapters: what each knows and charges."""

from itertools import product
from typing import Any

from cs.domain.contact import BrandFacts
from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.domain.source_cost import MICROS
from cs.plugins.sources import Query, SourceStatus
from sandbox.played_providers import BRANDS, PEOPLE, VERIFIERS, PlayedProviders
from sandbox.small_world import acme_with, world_of

ACME = BrandFacts(name="Acme", domain="acme.test", mail_domains=("acme.test",))
BETA = BrandFacts(name="Beta", domain="beta.test", mail_domains=("beta.test",))
#: Every provider knows everybody, as they are now.
_ENGINE = {"coverage": 1, "outdated": 0}
_FILE = {**_ENGINE, "misplaced": 0, "addresses": 1, "invented": 0, "companies": 1}
FULL: dict[str, dict[str, int]] = {
    "brave": _ENGINE,
    "serper": _ENGINE,
    "hunter": _FILE,
    "pdl": _FILE,
    "apollo": _FILE,
}
JOB = {"brand": "Acme", "headline": "Head of Influencer Marketing"}
STAFF: list[dict[str, Any]] = [
    {"name": "Jo Ek", "headline": "Social Media Manager", "mailbox": "jo.ek"},
    {"name": "Cy Roe", "headline": "Packaging Engineer", "mailbox": "cy.roe"},
]
MOVED = {
    "name": "Al Fry",
    "headline": "Brand Marketing Director",
    "mailbox": "al.fry",
    "before": JOB,
}


def world(**providers: Any) -> Any:
    acme = acme_with(people=STAFF, intends={"outcome": "done", "verified": ["jo.ek@acme.test"]})
    beta = acme_with(
        name="Beta",
        domain="beta.test",
        linkedin="beta",
        people=[MOVED],
        intends={"outcome": "done", "verified": ["al.fry@beta.test"]},
    )
    told = {name: {**given, **providers.get(name, {})} for name, given in FULL.items()}
    others = {name: given for name, given in providers.items() if name not in FULL}
    return world_of(brands=[acme, beta], providers={**told, **others})


async def found_by(played: PlayedProviders, name: str, brand: BrandFacts) -> dict[str, Any]:
    answer = await played.people(name).find(brand, limit=100)
    return {person.full_name: person for person in answer.people}


async def test_each_knows_the_staff_as_its_records_are_new_or_old() -> None:
    now = PlayedProviders(world())
    old = PlayedProviders(world(**{name: {"outdated": 1} for name in FULL}))
    wrong: list[tuple[str, str, object]] = []
    for name in PEOPLE:
        has_addresses = name not in {"brave", "serper"}
        of_acme, of_beta = [await found_by(now, name, brand) for brand in (ACME, BETA)]
        left, nobody = [await found_by(old, name, brand) for brand in (ACME, BETA)]
        if "Jo Ek" not in of_acme or "Al Fry" in of_acme or set(of_beta) != {"Al Fry"}:
            wrong.append((name, "now", (set(of_acme), set(of_beta))))
            continue
        then = left.get("Al Fry")
        if then is None or not then.headline.startswith(JOB["headline"]) or nobody:
            wrong.append((name, "outdated", (left, nobody)))
            continue
        if of_acme["Jo Ek"].addresses != ("jo.ek@acme.test",) * has_addresses:
            wrong.append((name, "address", of_acme["Jo Ek"].addresses))
        if then.addresses != ("al.fry@acme.test",) * has_addresses:
            wrong.append((name, "former address", left["Al Fry"].addresses))

    assert not wrong


async def test_a_file_of_people_may_name_the_wrong_company_and_an_address_that_is_none() -> (
    None
):
    made_up = {"misplaced": 1, "invented": 1}
    person = {"name": "Jo Ek", "headline": "Brand Manager", "mailbox": "jek"}
    acme = acme_with(people=[person], intends={"outcome": "no_emails"})
    given = {"hunter": {**FULL["hunter"], "invented": 1}}
    invented = PlayedProviders(world_of(brands=[acme], providers=given))
    misplaced = PlayedProviders(world(hunter=made_up))

    (address,) = (await found_by(invented, "hunter", ACME))["Jo Ek"].addresses
    listed = {
        name: brand.name
        for brand in (ACME, BETA)
        for name in await found_by(misplaced, "hunter", brand)
    }

    assert address == "jo.ek@acme.test"
    assert set(listed) == {"Jo Ek", "Al Fry"}


#: Behaviour of the mail server, mailbox, what it comes to.
MAIL: list[tuple[Any, str, Verdict]] = [
    ({"kind": "plain"}, "jo.ek", Verdict.DELIVERABLE),
    ({"kind": "plain"}, "nobody", Verdict.UNDELIVERABLE),
    ({"kind": "catch_all"}, "jo.ek", Verdict.CATCH_ALL),
    ({"kind": "catch_all"}, "nobody", Verdict.CATCH_ALL),
    ({"kind": "refuses_us"}, "jo.ek", Verdict.DELIVERABLE),
    ({"kind": "refuses_us"}, "nobody", Verdict.UNDELIVERABLE),
    ({"kind": "disabled"}, "jo.ek", Verdict.UNDELIVERABLE),
    ({"kind": "silent"}, "jo.ek", Verdict.UNKNOWN),
    ({"kind": "down"}, "jo.ek", Verdict.UNKNOWN),
    ({"kind": "full"}, "nobody", Verdict.UNDELIVERABLE),
]
ALL_KNOWN = {
    name: {"unknown": 0}
    for name in ("hunter_verifier", *(each for each in VERIFIERS if each != "hunter"))
}


async def verdict(played: PlayedProviders, name: str, address: str) -> Verdict:
    domain = address.partition("@")[2]
    async with played.verifier(name).open(domain, DomainFacts()) as check:
        found: Verdict = (await check.check(address)).verdict
        return found


async def test_each_verifier_agrees_with_the_mail_server() -> None:
    wrong = []
    for (behaviour, local, expected), name in product(MAIL, VERIFIERS):
        mail = [{"domain": "acme.test", "behaviour": behaviour}]
        played = PlayedProviders(world_of(mail=mail, providers=ALL_KNOWN))
        of_reacher = name == "reacher" and behaviour["kind"] == "refuses_us"
        right = Verdict.UNKNOWN if of_reacher else expected  # it asks from our machine
        found = await verdict(played, name, f"{local}@acme.test")
        if found is not right:
            wrong.append((name, behaviour["kind"], local, found))

    assert not wrong


async def test_what_adapters_count_is_what_the_providers_charge() -> None:
    played = PlayedProviders(world(**{**ALL_KNOWN, "zerobounce": {"unknown": 1}}))
    for name, brand in product(PEOPLE, (ACME, BETA, BrandFacts(name="None", domain="no.test"))):
        await played.people(name).find(brand, limit=10)
    for name, text in product(BRANDS, ("Acme", "Nobody")):
        await played.brands(name).find(Query(text, None), None)
    for name, local in product(VERIFIERS, ("jo.ek", "nobody")):
        await verdict(played, name, f"{local}@acme.test")

    lines = (await played.bill())["lines"]
    counted = {each.service: each.micros_this_month for each in await played.budgets.spending()}
    charged = dict.fromkeys(counted, 0)
    for line, sold in lines.items():
        charged[line.partition("_")[0]] += round(sold["usd"] * MICROS)

    assert set(lines) == {*FULL, "pdl_company", *ALL_KNOWN}
    assert lines["zerobounce"]["units"] == 0, "what it cannot tell of is free there"
    assert counted == charged


async def test_another_key_is_refused_and_an_empty_account_sells_nothing() -> None:
    stranger = PlayedProviders(world(), key="not-ours")
    empty = PlayedProviders(world(**{name: {"credits": 0} for name in (*FULL, *ALL_KNOWN)}))
    wrong = []
    for played, name in product((stranger, empty), PEOPLE):
        answer = await played.people(name).find(ACME, limit=5)
        if answer.ended is not SourceStatus.FAILED or answer.people:
            wrong.append((name, answer.ended))
    for played, name in product((stranger, empty), VERIFIERS):
        async with played.verifier(name).open("acme.test", DomainFacts()) as check:
            found = await check.check("jo.ek@acme.test")
        if found.reason not in {"key-refused", "no-credits", "rate-limited"}:
            wrong.append((name, found.reason))

    assert not wrong
    bill = await empty.bill()
    assert bill["usd"] == 0
