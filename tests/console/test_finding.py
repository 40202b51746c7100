"""Past searches, keys and runs are found by what an operator has of them, over HTTP."""

import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import NamedTuple

import httpx
import pytest
from msgspec.structs import replace

from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import AttemptFailed, ContactsRanked, LookupFinished, LookupStarted
from cs.domain.causation import StartCause
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted, SearchOutcome, SearchSettled
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import DomainLearned
from cs.domain.source_cost import SourceCost
from cs.operations.operator import NewSecret
from domain.golden_files import golden_event
from harness.in_process import Service, in_memory
from harness.outside import tools

DAYS_AGO = 50
AT = datetime.now(UTC).replace(microsecond=0) - timedelta(days=DAYS_AGO)
RESTED = brand_stream(Query("Rested"))
CALLED = "req_0123456789abcdef0123456789"


class Past(NamedTuple):
    client: httpx.AsyncClient
    shop: NewSecret  # two searches, 50 days ago
    twins: Sequence[NewSecret]  # of one label

    async def get(self, path: str, status: int = 200) -> str:
        answer = await self.client.get(path)
        assert answer.status_code == status, (path, answer.text)
        return unescape(answer.text)

    async def found(self, words: str) -> str:
        answer = await self.client.get("/find", params={"q": words})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].removeprefix("/console/")


async def plant(service: Service, stream: str, *events: AnyEvent) -> None:
    await service.running.streams.change(stream, lambda _: events, caused_by=StartCause())


def search(
    name: str, brand: str, outcome: SearchOutcome, request: str | None = None
) -> list[AnyEvent]:
    lookup = f"{brand_stream(Query(brand))}.1"
    return [
        SearchAdmitted(
            search=name, brand=brand, query=Query(brand), lookup=lookup, at=AT, request=request
        ),
        SearchSettled(
            search=name, lookup=lookup, outcome=outcome, charged=True, cached=True, at=AT
        ),
    ]


def run(number: int, rules: str) -> list[AnyEvent]:
    lookup, at = f"{RESTED}.{number}-a", AT + timedelta(days=number)
    paid = SourceCost(name="proxycurl", asked=1, calls=1, micros=1_450_000)
    ranked = golden_event("brand.contacts-ranked.v1")
    assert isinstance(ranked, ContactsRanked)
    return [
        LookupStarted(
            lookup=lookup, at=at, number=number, query=Query("Rested"), deadline_at=at
        ),
        AttemptFailed(
            lookup=lookup,
            at=at,
            stage="contact-discovery",
            attempt=1,
            why="sources-away",
            costs=(paid,),
        ),
        replace(ranked, lookup=lookup, at=at, ranked=(), left_out=(), rules=rules, opinions=()),
        LookupFinished(lookup=lookup, at=at, outcome="no_contacts", reusable=True, verified=0),
    ]


@pytest.fixture
async def past() -> AsyncIterator[Past]:
    async with in_memory(tools(), console=True) as service:
        create = service.operator.create_key
        shop = await create("Shop", 100)
        twins = [await create("Twin", 5), await create("Twin", 5)]
        await plant(
            service,
            f"key-{shop.id}",
            *search("srch_done", "Rested", "done", CALLED),
            *search("srch_none", "Other", "no_emails"),
        )
        await plant(service, RESTED, *run(1, "ranking-1"), *run(2, "ranking-2"))
        learned = DomainFacts(catch_all=True, pattern="first.last")
        until = AT + timedelta(days=7)
        await plant(
            service,
            "mail-domain-rested.test",
            DomainLearned(facts=DomainFacts(), expires_at=AT, at=AT - timedelta(days=7)),
            DomainLearned(facts=learned, expires_at=until, at=AT),
        )
        async with service.console() as client:
            yield Past(client, shop, twins)


async def test_the_search_box_leads_to_keys_searches_and_runs(past: Past) -> None:
    of_shop = f"keys/{past.shop.id}"

    assert await past.found("shop") == of_shop
    assert await past.found(past.shop.key[-4:]) in {of_shop, f"events/{past.shop.key[-4:]}"}
    assert await past.found("Twin") == "keys?q=Twin"
    assert await past.found(CALLED) == "searches/srch_done"
    assert await past.found(f"{RESTED}.2-a") == f"events?lookup={RESTED}.2-a"
    assert await past.found(RESTED) == f"brands/{RESTED}"
    assert await past.found("Rested") == "brands?q=Rested"
    unknown = await past.get("/find?q=req_none", 404)
    assert "req_none" in unknown


async def test_searches_are_chosen_by_key_brand_and_outcome(past: Past) -> None:
    async def searches(asked: str) -> list[str]:
        return re.findall(r">(srch_\w+)<", await past.get(f"/searches?{asked}"))

    assert await searches("") == ["srch_none", "srch_done"]
    for words in (past.shop.id, "Shop", past.shop.key[-4:]):
        assert await searches(f"key={words}&brand=rest") == ["srch_done"]
    assert await searches("key=Twin") == await searches("key=nothing") == []
    assert await searches("outcome=no_emails") == ["srch_none"]
    assert await searches("outcome=no_emails&brand=rested") == []
    page = await past.get("/searches?key=Shop&outcome=done&brand=Rested")
    words = f"--key={past.shop.id} --brand=Rested --outcome=done"
    assert f"cs searches list {words}" in page


@pytest.mark.parametrize("path", ["/?colour=red", "/searches?colour=red", "/keys?before=3"])
async def test_a_filter_that_a_page_does_not_have_is_refused(past: Past, path: str) -> None:
    assert "there is no filter" in await past.get(path, 400)


async def test_keys_say_when_they_were_used_and_when_they_run_out(past: Past) -> None:
    page = await past.get("/keys")
    (shop,) = (row for row in page.split("<tr>") if past.shop.id in row)

    assert f'data-label="Last used">{AT:%Y-%m-%dT%H:%M:%SZ}<' in shop
    # It was issued today, as far as its event says, and 2 of 100 are used.
    tomorrow = datetime.now(UTC) + timedelta(days=49)
    days = {f"{tomorrow:%F}", f"{tomorrow - timedelta(days=1):%F}"}
    assert re.findall(r'data-label="Runs out about">([^<]+)<', shop)[0] in days
    assert page.count('data-label="Runs out about">–<') == 2
    some = await past.get("/keys?q=twin")
    assert all(each.id in some for each in past.twins)
    assert past.shop.id not in some


async def test_a_mail_domain_is_described_in_words(past: Past) -> None:
    page = await past.get("/mail-domains?domain=rested.test")

    words = "accepts every address, so none can be verified, addresses are written first.last"
    assert f"{words}; believed until {AT + timedelta(days=7):%F %H:%M}" in page
    assert "Now: nothing. 0 mailboxes" in page


async def test_mail_domains_are_listed_once_with_what_is_known_and_until_when(
    past: Past,
) -> None:
    page = await past.get("/mail-domains")
    (row,) = (each for each in page.split("<tr>") if "rested.test" in each)
    found = await past.get(re.findall(r'href="/console(/mail-domains[^"]+)"', row)[0])

    assert "accepts every address, so none can be verified, addresses are written" in row
    assert f"{AT + timedelta(days=7):%FT%TZ}" in row
    assert "<h1>rested.test</h1>" in found
    assert 'rel="next"' not in page


async def test_money_without_an_e_mail_is_shown_as_money(past: Past) -> None:
    # The planted runs are of the last quarter, as the page counts it.
    page = await past.get("/sources")
    (row,) = (each for each in page.split("<tr>") if "proxycurl" in each)

    assert 'data-label="Usd per e-mail">$2.90, no e-mail<' in row
    assert "newest" in page.partition("How sources ended")[2]


async def test_what_is_not_ready_yet_is_read_again_with_and_without_javascript(
    past: Past,
) -> None:
    page = await past.get("/report?since=2026-01-01&until=2026-02-01")

    address = "/console/report?since=2026-01-01&until=2026-02-01"
    assert f'hx-get="{address}" hx-select="#main"' in page
    assert 'hx-trigger="every 2s"' in page
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page
    assert "http-equiv" not in await past.get("/keys")
