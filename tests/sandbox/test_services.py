"""How Wikidata and SearXNG of a world fail; what they answer is proved by whole searches."""

from typing import Any

import httpx
import pytest

from sandbox.small_world import ACME, Running, Sandbox, acme_with

BETA = acme_with(name="Beta", domain="beta.test", linkedin="beta", intends={"outcome": "done"})
PAGE, JSON = "text/html", "application/json"


async def wikidata(world: Running, **asked: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(world.addresses.wikidata_url, params=asked)


async def search(world: Running, text: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"{world.addresses.searxng_url}/search"
        return await client.get(url, params={"q": text, "format": "json"})


async def named(world: Running, service: str, name: str) -> httpx.Response:
    if service == "searxng":
        return await search(world, f'"{name}"')
    return await wikidata(world, action="wbsearchentities", search=name)


@pytest.mark.parametrize(
    ("service", "failure", "status", "kind", "retry_after"),
    [
        ("searxng", {"kind": "status", "code": 429, "retry_after_s": 60}, 429, PAGE, "60"),
        ("searxng", {"kind": "not_json"}, 200, PAGE, None),
        ("searxng", {"kind": "json_disabled"}, 403, PAGE, None),
        ("wikidata", {"kind": "not_json"}, 200, PAGE, None),
        ("wikidata", {"kind": "maxlag", "retry_after_s": 7}, 200, JSON, "7"),
    ],
)
async def test_a_failure_of_one_brand_or_of_the_service(
    sandbox: Sandbox,
    service: str,
    *,
    failure: dict[str, Any],
    status: int,
    kind: str,
    retry_after: str | None,
) -> None:
    troubled = acme_with(trouble={service: {"failure": failure}})
    well = BETA | {"trouble": {service: {}}}
    async with sandbox(brands=[troubled, BETA]) as world:
        answers = [await named(world, service, "ACME")]
        others = [await named(world, service, "Beta")]
    async with sandbox(brands=[ACME, well], services={service: {"failure": failure}}) as world:
        answers.append(await named(world, service, "ACME"))
        others.append(await named(world, service, "Beta"))

    for answer in answers:
        shown = answer.headers["Content-Type"].split(";")[0], answer.headers.get("Retry-After")
        assert (answer.status_code, *shown) == (status, kind, retry_after)
    assert all("Beta" in other.text for other in others)


@pytest.mark.parametrize("service", ["wikidata", "searxng"])
async def test_a_service_that_is_down(sandbox: Sandbox, service: str) -> None:
    down = {service: {"failure": {"kind": "down"}}}
    async with sandbox(services=down) as world:
        with pytest.raises(httpx.ConnectError):
            await named(world, service, "Acme")
    async with sandbox(brands=[acme_with(trouble=down)]) as world:
        with pytest.raises(httpx.RemoteProtocolError):
            await named(world, service, "Acme")


async def test_ids_and_the_order_of_equal_results_follow_from_the_seed(
    sandbox: Sandbox,
) -> None:
    people = [{"name": f"P{n} Q", "headline": "Brand Manager"} for n in range(9)]
    brand = acme_with(people=people, intends={"outcome": "no_emails"})
    found = []
    for seed in (1, 1, 2):
        async with sandbox(brands=[brand], seed=seed) as world:
            results = (await search(world, 'site:linkedin.com/in "Acme"')).json()["results"]
            titles = [result["title"] for result in results]
            (hit,) = (await named(world, "wikidata", "Acme")).json()["search"]
            claims = await wikidata(world, action="wbgetentities", ids=hit["id"])
        assert "https://acme.test/" in claims.text
        found.append((titles, hit["id"]))

    assert found[0] == found[1]
    assert found[0][0] != found[2][0]
    assert found[0][1] != found[2][1]
    assert sorted(found[0][0]) == sorted(found[2][0])
