from typing import Any

import httpx
import pytest

from sandbox.small_world import Running, Sandbox, acme_with


async def ask(world: Running, **params: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        query = {"format": "json", **params}
        return await client.get(f"{world.addresses.searxng_url}/search", params=query)


async def titles(world: Running, query: str, **params: str) -> list[str]:
    results = (await ask(world, q=query, **params)).json()["results"]
    return [result["title"] for result in results]


async def test_profile_is_titled_like_a_profile(sandbox: Sandbox) -> None:
    people = [
        {"name": "Zoë Ruiz", "headline": "Head of Social", "location": "Bilbao, Spain"},
        {"name": "Al Fry", "headline": "Social Lead at Acme", "slug": "al-fry"},
    ]
    brand = acme_with(people=people, intends={"outcome": "no_emails"})
    async with sandbox(brands=[brand]) as world:
        answer = (await ask(world, q='site:linkedin.com/in "Acme" social')).json()

    by_title = {result["title"]: result for result in answer["results"]}
    assert set(by_title) == {
        "Zoë Ruiz - Head of Social - Acme | LinkedIn",
        "Al Fry - Social Lead at Acme | LinkedIn",
    }
    zoe = by_title["Zoë Ruiz - Head of Social - Acme | LinkedIn"]
    assert zoe["content"].startswith("Location: Bilbao, Spain · ")
    assert zoe["url"].startswith("https://www.linkedin.com/in/zoe-ruiz-")
    al = by_title["Al Fry - Social Lead at Acme | LinkedIn"]
    assert al["url"] == "https://www.linkedin.com/in/al-fry"


async def test_order_of_equal_results_follows_from_the_seed(sandbox: Sandbox) -> None:
    people = [{"name": f"P{n} Q", "headline": "Brand Manager"} for n in range(9)]
    brand = acme_with(people=people, intends={"outcome": "no_emails"})
    orders = []
    for seed in (1, 1, 2):
        async with sandbox(brands=[brand], seed=seed) as world:
            orders.append(await titles(world, 'site:linkedin.com/in "Acme"'))

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


@pytest.mark.parametrize(
    ("failure", "status", "kind"),
    [
        ({"kind": "json_disabled"}, 403, "text/html"),
        ({"kind": "not_json"}, 200, "text/html"),
        ({"kind": "status", "code": 500}, 500, "text/html"),
        ({"kind": "status", "code": 429, "retry_after_s": 60}, 429, "text/html"),
        ({"kind": "none"}, 200, "application/json"),
    ],
)
async def test_failure_for_one_brand(
    sandbox: Sandbox, failure: dict[str, Any], status: int, kind: str
) -> None:
    troubled = acme_with(trouble={"searxng": {"failure": failure}})
    other = acme_with(name="Beta", domain="beta.test", intends={"outcome": "no_contacts"})
    async with sandbox(brands=[troubled, other]) as world:
        answer = await ask(world, q='site:linkedin.com/in "ACME" social')
        untroubled = await ask(world, q='"Beta"')

    assert (answer.status_code, answer.headers["Content-Type"].split(";")[0]) == (status, kind)
    assert answer.headers.get("Retry-After") == ("60" if status == 429 else None)
    assert untroubled.json()["results"]
