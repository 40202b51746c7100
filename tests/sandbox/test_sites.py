import ssl
from typing import Any

import httpx
import pytest

from sandbox.small_world import Running, Sandbox, acme_with

QUIET = {"outcome": "no_emails", "asked_by": ["brand"]}


async def get(world: Running, host: str, path: str = "/", **headers: str) -> httpx.Response:
    """Fetch over https, from the address that DNS gives, without following redirects."""
    trusting = ssl.create_default_context(cafile=str(world.addresses.ca_file))
    address, port = await world.address(host), world.addresses.web_ports[1]
    async with httpx.AsyncClient(verify=trusting, trust_env=False) as client:
        return await client.get(
            f"https://{address}:{port}{path}",
            headers={"Host": f"{host}:{port}", **headers},
            extensions={"sni_hostname": host},
        )


def acme_site(**site: Any) -> list[dict[str, Any]]:
    parts = {"description": "shoes & socks", "instagram": "acme", "tiktok": "acme.tt"}
    return [acme_with(site=site, **parts)]


async def test_page_names_the_brand_and_its_social_pages(sandbox: Sandbox) -> None:
    async with sandbox(brands=acme_site()) as world:
        answer = await get(world, "acme.test")
        missing = await get(world, "acme.test", "/shop/1")
        stranger = await get(world, "acme.test", Host="stranger.test")
        address, port = await world.address("acme.test"), world.addresses.web_ports[0]
        async with httpx.AsyncClient(trust_env=False) as client:
            plain = await client.get(f"http://{address}:{port}/", headers={"Host": "acme.test"})

    assert (answer.status_code, plain.text) == (200, answer.text)
    assert "<title>Acme – shoes &amp; socks</title>" in answer.text
    assert '<meta property="og:site_name" content="Acme">' in answer.text
    for link in ("linkedin.com/company/acme/", "instagram.com/acme/", "tiktok.com/@acme.tt"):
        assert f'<a href="https://www.{link}">' in answer.text
    assert (missing.status_code, stranger.status_code) == (404, 421)


async def test_site_that_nobody_is_known_by_names_nobody(sandbox: Sandbox) -> None:
    async with sandbox(brands=[acme_with(known_by=["wikidata"], intends=QUIET)]) as world:
        answer = await get(world, "acme.test")

    assert answer.status_code == 200
    assert "Acme" not in answer.text
    assert "linkedin" not in answer.text


@pytest.mark.parametrize(
    ("site", "host", "home"),
    [
        ({}, "www.acme.test", "acme.test"),
        ({"home": "www"}, "acme.test", "www.acme.test"),
        ({"former": ["old.test"], "home": "www"}, "www.old.test", "www.acme.test"),
    ],
)
async def test_other_names_redirect_to_the_home(
    sandbox: Sandbox, site: dict[str, Any], host: str, home: str
) -> None:
    async with sandbox(brands=acme_site(**site)) as world:
        answer = await get(world, host, "/about")
        port = world.addresses.web_ports[1]
        there = await get(world, home, "/about")

    assert answer.status_code == 301
    assert answer.headers["Location"] == f"https://{home}:{port}/about"
    assert there.status_code == 200
