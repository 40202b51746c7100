"""Starting and stopping the sandbox: an outside world on loopback."""

import asyncio
import errno
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from cs.sandbox.certificates import Authority
from cs.sandbox.dns import name_server
from cs.sandbox.layout import Layout
from cs.sandbox.listening import Sleep, listening
from cs.sandbox.providers.server import ProviderServer
from cs.sandbox.searxng import SearxngServer
from cs.sandbox.shapes import World
from cs.sandbox.sites import Sites
from cs.sandbox.smtp import MailServers
from cs.sandbox.web import speaking_http
from cs.sandbox.wikidata import WikidataServer

_TRIES = 20


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """Where the world is; what the service's settings need to talk to it.

    Attributes:
        wikidata_url: Of api.php.
        searxng_url: Base, without ``/search``.
        providers_url: Base of the providers with a key, without a provider's name; ``None``
            where they are not played.
        dns: The name server, ``host:port``.
        smtp_port: Of every mail host.
        web_ports: http and https port of every site.
        ca_file: Certificate of the authority that signs for every host, PEM.
        allow_networks: Where all addresses of the world are.
    """

    wikidata_url: str
    searxng_url: str
    providers_url: str | None = None
    dns: str
    smtp_port: int
    web_ports: tuple[int, int]
    ca_file: Path
    allow_networks: tuple[str, ...] = ("127.0.0.0/8",)


@asynccontextmanager
async def open_sandbox(
    world: World,
    *,
    folder: Path,
    providers: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[Addresses]:
    """Run *world* until left; then nothing listens and *folder* is as it was.

    Args:
        world: From `cs.sandbox.world.load`.
        folder: For certificates; made if it is not there.
        providers: Play the providers with a key, too.
        clock: Seconds, measures how long a greylisted client has waited.
        sleep: Waits some of those seconds, before slow answers.

    Raises:
        OSError: No addresses or ports could be had.  On a system where only 127.0.0.1
            is configured the others have to be added first (docs/sandbox.md).
    """
    authority = await asyncio.to_thread(_authority, folder)
    try:
        async with AsyncExitStack() as stack:
            yield await _opened(stack, world, authority, clock, sleep, providers=providers)
    finally:
        await asyncio.to_thread(authority.ca_file.unlink, missing_ok=True)


def _authority(folder: Path) -> Authority:
    folder.mkdir(parents=True, exist_ok=True)
    return Authority(folder)


async def _opened(
    stack: AsyncExitStack,
    world: World,
    authority: Authority,
    clock: Callable[[], float],
    sleep: Sleep,
    *,
    providers: bool,
) -> Addresses:
    """Start everything, elsewhere if a port turns out to be taken."""
    for left in reversed(range(_TRIES)):
        async with AsyncExitStack() as trial:
            try:
                layout = Layout(world, clock)
                addresses = await _start(trial, world, authority, layout, sleep)
                if providers:
                    addresses = await _with_providers(trial, world, addresses, sleep)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or not left:
                    raise
                continue
            stack.push_async_exit(trial.pop_all())
            return addresses
    raise AssertionError("the last try returns or raises")


async def _start(
    stack: AsyncExitStack, world: World, authority: Authority, layout: Layout, sleep: Sleep
) -> Addresses:
    tls = await asyncio.to_thread(authority.by_name, layout.names)
    mail_tls = await asyncio.to_thread(authority.context, _mail_names(layout))
    dns, wikidata, searxng = (
        free_port(host) for host in (layout.name_server, layout.wikidata, layout.searxng)
    )
    http, https, smtp = (free_port(layout.name_server) for _ in range(3))
    sites = Sites(world, scheme="http", port=http)
    safe_sites = Sites(world, scheme="https", port=https)
    mail = MailServers(layout.mail, mail_tls, sleep)

    await stack.enter_async_context(name_server(layout.zone.respond, layout.name_server, dns))
    for server in (
        listening(speaking_http(sites.respond, sleep), layout.web, http),
        listening(speaking_http(safe_sites.respond, sleep), layout.web, https, tls=tls),
        listening(mail.serve, list(layout.mail), smtp),
    ):
        await stack.enter_async_context(server)
    if not world.services.wikidata.is_down:
        api = WikidataServer(world)
        await stack.enter_async_context(
            listening(speaking_http(api.respond, sleep), [layout.wikidata], wikidata)
        )
    if not world.services.searxng.is_down:
        search = SearxngServer(world)
        await stack.enter_async_context(
            listening(speaking_http(search.respond, sleep), [layout.searxng], searxng)
        )
    return Addresses(
        wikidata_url=f"http://{layout.wikidata}:{wikidata}/w/api.php",
        searxng_url=f"http://{layout.searxng}:{searxng}",
        dns=f"{layout.name_server}:{dns}",
        smtp_port=smtp,
        web_ports=(http, https),
        ca_file=authority.ca_file,
    )


async def _with_providers(
    stack: AsyncExitStack, world: World, addresses: Addresses, sleep: Sleep
) -> Addresses:
    """Play the providers on a port of the name server's address."""
    host = addresses.dns.partition(":")[0]
    port = free_port(host)
    server = await asyncio.to_thread(ProviderServer, world)
    await stack.enter_async_context(
        listening(speaking_http(server.respond, sleep), [host], port)
    )
    return msgspec.structs.replace(addresses, providers_url=f"http://{host}:{port}")


def _mail_names(layout: Layout) -> list[str]:
    """Return the names on the one certificate that mail hosts share."""
    return [server.host for server in layout.mail.values()] or ["mail.invalid"]


def free_port(host: str) -> int:
    """Return a port that is free on *host* now; another address may yet refuse it."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port
