from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from sandbox.small_world import Running, Sandbox, acme_with

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
    ended, deprecated, current = claims["P856"]
    until = ended["qualifiers"]["P582"][0]["datavalue"]["value"]["time"]
    assert (until, ended["rank"]) == ("+2021-06-30T00:00:00Z", "normal")
    assert deprecated["rank"] == "deprecated"
    assert (current["rank"], "qualifiers" in current) == ("preferred", False)


SEARCH = {"action": "wbsearchentities", "search": "Acme", "language": "en"}


async def test_service_may_lag_or_refuse_the_connection(sandbox: Sandbox) -> None:
    lag = {"wikidata": {"failure": {"kind": "maxlag", "retry_after_s": 7}}}
    async with sandbox(services=lag) as world, wikidata(world) as api:
        answer = await api.response(**SEARCH)
    down = {"wikidata": {"failure": {"kind": "down"}}}
    async with sandbox(services=down) as world, wikidata(world) as api:
        with pytest.raises(httpx.ConnectError):
            await api.response(**SEARCH)

    assert (answer.status_code, answer.headers["Retry-After"]) == (200, "7")
    assert answer.json()["error"]["code"] == "maxlag"


async def test_trouble_with_one_brand_by_name_or_id_leaves_the_others_alone(
    sandbox: Sandbox,
) -> None:
    async with sandbox() as world, wikidata(world) as api:
        (hit,) = await api.search("Acme")
    status = {"kind": "status", "code": 429, "retry_after_s": 9}
    troubled = acme_with(trouble={"wikidata": {"failure": status}})
    async with sandbox(brands=[troubled, PARENT]) as world, wikidata(world) as api:
        answers = [
            await api.response(**SEARCH),
            await api.response(action="wbgetentities", ids=hit["id"]),
        ]
        other = await api.search("Holding")
    troubled = acme_with(trouble={"wikidata": {"failure": {"kind": "down"}}})
    async with sandbox(brands=[troubled]) as world, wikidata(world) as api:
        with pytest.raises(httpx.RemoteProtocolError):
            await api.search("Acme")

    assert {(a.status_code, a.headers["Retry-After"]) for a in answers} == {(429, "9")}
    assert len(other) == 1
