import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.small_world import ACME, Sandbox, acme_with


async def test_every_host_has_an_address_of_its_own(sandbox: Sandbox) -> None:
    other = acme_with(name="Beta", domain="beta.test", intends={"outcome": "no_contacts"})
    async with sandbox(brands=[ACME, other]) as world:
        hosts = ("acme.test", "beta.test", "mx1.acme.test", "mx1.beta.test")
        found = [await world.address(host) for host in hosts]

    services = [world.addresses.dns, world.addresses.wikidata_url, world.addresses.searxng_url]
    assert len(set(found)) == 4
    assert all(address.startswith("127.") for address in found)
    assert not any(address in service for address in found for service in services)


async def test_each_site_shows_a_certificate_for_its_own_name(sandbox: Sandbox) -> None:
    other = acme_with(name="Beta", domain="beta.test", intends={"outcome": "no_contacts"})
    async with sandbox(brands=[ACME, other]) as world:
        trusting = ssl.create_default_context(cafile=str(world.addresses.ca_file))
        address = await world.address("acme.test")
        port = world.addresses.web_ports[1]

        async def connect(name: str) -> str:
            _, writer = await asyncio.open_connection(
                address, port, ssl=trusting, server_hostname=name
            )
            names = writer.get_extra_info("peercert")["subjectAltName"]
            writer.close()
            await writer.wait_closed()
            return str(names[0][1])

        shown = [await connect("acme.test"), await connect("www.beta.test")]
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect("stranger.test")

    assert shown == ["acme.test", "beta.test"]


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def open_files() -> int:
    """Return how many there are, without what the loop keeps for when no more may be opened."""
    links = []
    for each in files_in(Path("/proc/self/fd")):
        with suppress(OSError):  # that of the listing itself
            links.append(each.readlink())
    return sum(link != Path("/dev/null") for link in links)


async def test_nothing_is_left_behind(sandbox: Sandbox, tmp_path: Path) -> None:
    files_before, tasks_before = open_files(), asyncio.all_tasks()
    async with sandbox() as world:
        host, _, port = world.addresses.dns.partition(":")
        _, idle = await asyncio.open_connection(host, int(port))
    idle.transport.abort()
    await idle.wait_closed()

    assert files_in(tmp_path / "world") == []
    assert asyncio.all_tasks() == tasks_before
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))
    assert open_files() <= files_before
