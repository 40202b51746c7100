"""Sites that make their answers as costly as they can: the service goes on answering."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from itertools import chain, count
from pathlib import Path

import httpx
import msgspec
import pytest

from harness.api_keys import new_keys
from harness.served import Served
from security.hostile_site import HostileSite, Send, at_once, hostile_site, in_single_bytes
from security.responsiveness import ANSWER_S, Answers, answering
from system.faults.lasting_world import WorldClock, lasting_world

pytestmark = pytest.mark.slow

#: Searches together, each of a brand of its own.
TOGETHER = 8
#: Longer than the time that a site is given.
SEARCH_S = 60.0
BUNDLED = files("cs.sandbox") / "worlds" / "bundled.json"
WARM = "Hostilerana"


def tries(attack: str) -> list[list[str]]:
    """Return the brands of three tries of *attack*.

    A busy machine may be slow once; a service that a site can stop is slow each time.
    """
    own = ("ba", "ke", "di", "fo", "zu")[list(ATTACKS).index(attack)]
    return [[f"Hostile{own}{each}{n}rana" for each in "abcdefgh"] for n in ("co", "mi", "lu")]


#: More of a page is not read.
MAX_BYTES = 2 << 20
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"


def page(parts: Iterable[bytes], fields: bytes = b"") -> bytes:
    """Return an answer whose body is *parts*, as many as there is room for."""
    body = bytearray()
    for part in parts:
        if len(body) + len(part) > MAX_BYTES:
            break
        body += part
    return HTML + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


def company_pages() -> Iterator[bytes]:
    """Yield links to company pages, each with a long name of many scripts."""
    for number in count():
        yield "<a href=//linkedin.com/company/{}{}>".format("é中" * 200, number).encode()


GZIP = b"Content-Encoding: gzip\r\n"


def chunks() -> bytes:
    return HTML + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * MAX_BYTES


ATTACKS: dict[str, tuple[Callable[[], bytes], Send]] = {
    "chunks of one byte": (chunks, at_once),
    "chunks and segments of one byte": (chunks, in_single_bytes),
    "hints without end": (lambda: b"HTTP/1.1 103 Early Hints\r\n\r\n" * 400_000, at_once),
    "company pages": (lambda: page(company_pages()), at_once),
    "a bomb": (lambda: page([gzip.compress(b"<a " * 20_000_000, 1)], GZIP), at_once),
}


async def test_the_service_answers_while_sites_attack(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world.json")
    with hostile_site() as site:
        async with lasting_world(world, tmp_path, WorldClock()) as addresses:
            point_at(addresses, site)
            service = Served(tmp_path / "data")
            service.module = "system.faults.lasting_world"
            service.words = (str(addresses), *service.where)
            with service:
                keys = await new_keys(service.folder, TOGETHER)
                site.answer = page([b"<title>Acme</title>"])
                await searches(service, [WARM], keys)
                await asyncio.to_thread(probe_once, service)
                for attack in ATTACKS:
                    keys = await new_keys(service.folder, TOGETHER)
                    await attacked(service, site, attack, keys)


async def attacked(service: Served, site: HostileSite, attack: str, keys: list[str]) -> None:
    """Search brands whose sites attack; every answer of the service has to be fast."""
    make, site.send = ATTACKS[attack]
    site.answer = make()
    site.asked.clear()
    answers = Answers()
    for brands in tries(attack):
        with answering(service) as probed:
            ended = await searches(service, brands, keys)
        assert ended == ["done"] * TOGETHER, attack  # without what the sites say
        answers = probed
        if max(answers.api + answers.admin) <= ANSWER_S:
            break
    assert site.asked["/"] > TOGETHER // 2, attack
    assert not answers.slow, attack


def write_world(file: Path) -> Path:
    """Write a world of all brands, each like the first one of the bundled world."""
    model = json.dumps(json.loads(BUNDLED.read_bytes())["brands"][0])
    name = json.loads(model)["name"]
    alike = [
        json.loads(model.replace(name, each).replace(name.lower(), each.lower()))
        for each in (WARM, *chain(*(some for attack in ATTACKS for some in tries(attack))))
    ]
    file.write_text(json.dumps({"brands": alike}))
    return file


def point_at(addresses: Path, site: HostileSite) -> None:
    """Put *site* in place of all web sites of the world at *addresses*."""
    known = msgspec.json.decode(addresses.read_bytes())
    addresses.write_bytes(
        msgspec.json.encode(known | {"web_ports": [site.port, site.refusing]})
    )


def probe_once(service: Served) -> None:
    with answering(service):
        pass


async def searches(service: Served, brands: list[str], keys: list[str]) -> list[str]:
    """Search each of *brands*, together; return how they ended."""
    async with httpx.AsyncClient(timeout=SEARCH_S, trust_env=False) as client:

        async def search(name: str, key: str) -> str:
            answer = await client.post(
                f"{service.base_url}/contacts",
                headers={"Authorization": f"Bearer {key}"},
                json={"brand": name, "wait": True},
            )
            return str(answer.json().get("status"))

        return await asyncio.gather(*map(search, brands, keys))
