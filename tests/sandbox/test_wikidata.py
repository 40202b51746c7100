from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from sandbox.small_world import ACME, Running, Sandbox, acme_with

PARENT = acme_with(name="Holding", domain="holding.test", intends={"outcome": "no_contacts"})
CHILD = acme_with(
    aliases=["Acme Shoes"],
    instagram="acmeshoes",
    tiktok="acme.shoes",
    parent="Holding",
    site={"home": "www", "former": ["old.test", "older.test"]},
)


class Api:
    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client, self._url = client, url

    async def response(self, **params: str) -> httpx.Response:
        return await self._client.get(self._url, params={"format": "json", **params})

    async def search(self, text: str, **params: str) -> list[dict[str, Any]]:
        asked = {"action": "wbsearchentities", "search": text, "language": "en", **params}
        found: list[dict[str, Any]] = (await self.response(**asked)).json()["search"]
        return found

    async def claims(self, number: str) -> dict[str, Any]:
        answer = await self.response(action="wbgetentities", ids=number, props="claims|labels")
        claims: dict[str, Any] = answer.json()["entities"][number]["claims"]
        return claims


@asynccontextmanager
async def wikidata(world: Running) -> AsyncIterator[Api]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield Api(client, world.addresses.wikidata_url)


async def test_search_finds_labels_and_aliases_by_their_beginning(sandbox: Sandbox) -> None:
    async with sandbox(brands=[CHILD, PARENT]) as world, wikidata(world) as api:
        label, alias = await api.search("ACME"), await api.search("acme sh")
        nothing = await api.search("shoes")

    assert [(hit["label"], hit["match"]["type"]) for hit in label] == [("Acme", "label")]
    assert alias[0]["match"] == {"type": "alias", "language": "en", "text": "Acme Shoes"}
    assert alias[0]["id"] == label[0]["id"]
    assert nothing == []


async def test_search_puts_the_exact_name_first_and_goes_on_where_asked(
    sandbox: Sandbox,
) -> None:
    longer = acme_with(name="Acme Tools", domain="tools.test", intends={"outcome": "no_emails"})
    async with sandbox(brands=[longer, ACME]) as world, wikidata(world) as api:
        both = await api.search("acme")
        first = await api.search("acme", limit="1")
        second = await api.search("acme", **{"limit": "1", "continue": "1"})

    assert [hit["label"] for hit in both] == ["Acme", "Acme Tools"]
    assert first + second == both


async def test_item_holds_the_statements_of_the_brand(sandbox: Sandbox) -> None:
    async with sandbox(brands=[CHILD, PARENT]) as world, wikidata(world) as api:
        (hit,) = await api.search("Acme")
        (holding,) = await api.search("Holding")
        claims = await api.claims(hit["id"])

    def values(name: str) -> list[Any]:
        return [claim["mainsnak"]["datavalue"]["value"] for claim in claims[name]]

    assert values("P856") == [
        "http://old.test/",
        "http://older.test/",
        "https://www.acme.test/",
    ]
    assert [values(name) for name in ("P4264", "P2003", "P7085")] == [
        ["acme"],
        ["acmeshoes"],
        ["acme.shoes"],
    ]
    assert values("P749")[0]["id"] == holding["id"]
    assert values("P31")[0]["id"] == "Q431289"


async def test_former_sites_have_ended_or_are_deprecated(sandbox: Sandbox) -> None:
    async with sandbox(brands=[CHILD, PARENT]) as world, wikidata(world) as api:
        (hit,) = await api.search("Acme")
        ended, deprecated, current = (await api.claims(hit["id"]))["P856"]

    until = ended["qualifiers"]["P582"][0]["datavalue"]["value"]["time"]
    assert (until, ended["rank"]) == ("+2021-06-30T00:00:00Z", "normal")
    assert deprecated["rank"] == "deprecated"
    assert (current["rank"], "qualifiers" in current) == ("preferred", False)


async def test_brand_that_wikidata_does_not_know_is_not_found(sandbox: Sandbox) -> None:
    unknown = acme_with(known_by=["website", "searxng"])
    async with sandbox(brands=[unknown]) as world, wikidata(world) as api:
        assert await api.search("Acme") == []


async def test_other_items_share_a_name_and_have_no_site(sandbox: Sandbox) -> None:
    item = {"label": "Acme", "description": "genus of snails", "instance_of": "Q16521"}
    async with sandbox(items=[item]) as world, wikidata(world) as api:
        brand, snail = await api.search("Acme")
        claims = await api.claims(snail["id"])

    assert brand["description"] == "consumer brand"
    assert list(claims) == ["P31"]


async def test_ids_follow_from_the_seed(sandbox: Sandbox) -> None:
    ids = []
    for seed in (1, 1, 2):
        async with sandbox(seed=seed) as world, wikidata(world) as api:
            ids.append((await api.search("Acme"))[0]["id"])

    assert ids[0] == ids[1] != ids[2]


async def test_unknown_id_is_missing(sandbox: Sandbox) -> None:
    async with sandbox() as world, wikidata(world) as api:
        answer = await api.response(action="wbgetentities", ids="Q42")

    assert answer.json()["entities"] == {"Q42": {"id": "Q42", "missing": ""}}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"action": "wbsearchentities", "search": "Acme"}, "missingparam"),
        ({"action": "wbsearchentities", "language": "en"}, "missingparam"),
        ({"action": "wbgetentities"}, "param-missing"),
        ({"action": "wbgetentities", "ids": "|".join(["Q1"] * 51)}, "toomanyvalues"),
        ({"action": "frob"}, "badvalue"),
    ],
)
async def test_error_is_json_with_status_200(
    sandbox: Sandbox, params: dict[str, str], code: str
) -> None:
    async with sandbox() as world, wikidata(world) as api:
        answer = await api.response(**params)

    assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)
    assert answer.headers["MediaWiki-API-Error"] == code


async def test_lag_is_an_error_with_status_200_and_retry_after(sandbox: Sandbox) -> None:
    services = {"wikidata": {"failure": {"kind": "maxlag", "retry_after_s": 7}}}
    async with sandbox(services=services) as world, wikidata(world) as api:
        answer = await api.response(action="wbsearchentities", search="Acme", language="en")

    assert answer.status_code == 200
    assert answer.headers["Retry-After"] == "7"
    assert answer.json()["error"]["code"] == "maxlag"


async def test_trouble_with_one_brand_leaves_the_others_alone(sandbox: Sandbox) -> None:
    status = {"kind": "status", "code": 429, "retry_after_s": 9}
    troubled = acme_with(trouble={"wikidata": {"failure": status}})
    async with sandbox(brands=[troubled, PARENT]) as world, wikidata(world) as api:
        answer = await api.response(action="wbsearchentities", search="acme", language="en")
        other = await api.search("Holding")

    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "9")
    assert len(other) == 1


async def test_trouble_reaches_the_brand_by_its_id(sandbox: Sandbox) -> None:
    async with sandbox() as world, wikidata(world) as api:
        (hit,) = await api.search("Acme")
    troubled = acme_with(trouble={"wikidata": {"failure": {"kind": "not_json"}}})
    async with sandbox(brands=[troubled]) as world, wikidata(world) as api:
        answer = await api.response(action="wbgetentities", ids=hit["id"])

    assert answer.headers["Content-Type"].startswith("text/html")


async def test_service_that_is_down_refuses_the_connection(sandbox: Sandbox) -> None:
    services = {"wikidata": {"failure": {"kind": "down"}}}
    async with sandbox(services=services) as world, wikidata(world) as api:
        with pytest.raises(httpx.ConnectError):
            await api.response(action="wbsearchentities", search="Acme", language="en")


async def test_service_that_is_down_for_one_brand_closes_without_a_word(
    sandbox: Sandbox,
) -> None:
    troubled = acme_with(trouble={"wikidata": {"failure": {"kind": "down"}}})
    async with sandbox(brands=[troubled]) as world, wikidata(world) as api:
        with pytest.raises(httpx.RemoteProtocolError):
            await api.search("Acme")


async def test_client_without_a_user_agent_is_turned_away(sandbox: Sandbox) -> None:
    async with sandbox() as world, httpx.AsyncClient(trust_env=False) as client:
        del client.headers["User-Agent"]
        answer = await client.get(world.addresses.wikidata_url)

    assert answer.status_code == 403
