"""Starts and stops the sandbox: an outside world on loopback."""

import asyncio
import errno
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import IPv4Address
from pathlib import Path
from random import SystemRandom

import msgspec

from cs.sandbox.certificates import Authority
from cs.sandbox.dns import Zone, name_server
from cs.sandbox.providers.server import ProviderServer
from cs.sandbox.servers import Respond, Serve, Sleep, listening, speaking_http
from cs.sandbox.services import SearxngServer, WikidataServer
from cs.sandbox.shapes import MailHost, World, WorldMailDomain
from cs.sandbox.sites import Sites, hosts_of
from cs.sandbox.smtp import Mailboxes, MailServer, MailServers
from cs.sandbox.world import mail_domains, mailbox_states

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
    authority = await asyncio.to_thread(Authority, folder)
    played = await asyncio.to_thread(ProviderServer, world) if providers else None
    try:
        async with AsyncExitStack() as stack:
            yield await _opened(stack, authority, played, lambda: _Start(world, clock, sleep))
    finally:
        with suppress(OSError):  # on a disk that has become read-only it stays
            authority.ca_file.unlink()


async def _opened(
    stack: AsyncExitStack,
    authority: Authority,
    played: ProviderServer | None,
    start: Callable[[], "_Start"],
) -> Addresses:
    """Start everything, elsewhere if a port turns out to be taken."""
    for left in reversed(range(_TRIES)):
        try:
            async with AsyncExitStack() as trial:
                addresses = await start().run(trial, authority, played)
                stack.push_async_exit(trial.pop_all())
                return addresses
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not left:
                raise
    raise AssertionError("the last try returns or raises")


class _Start:
    """One try to start every server of *world*.

    Addresses are handed out one after the other from a random place in 127.0.0.0/8, so that
    sandboxes run side by side.
    """

    def __init__(self, world: World, clock: Callable[[], float], sleep: Sleep) -> None:
        self._world, self._clock, self._sleep = world, clock, sleep
        random = SystemRandom()
        start = f"127.{random.randint(1, 254)}.{random.randint(0, 200)}.0"
        self._next = IPv4Address(start)
        self._zone = Zone()
        #: Addresses of the sites that are up, and their host names with the names on the
        #: certificate of each.
        self._web: list[str] = []
        self._names: dict[str, list[str]] = {}
        #: The mail servers that are not down, by address.
        self._mail: dict[str, MailServer] = {}

    async def run(
        self, stack: AsyncExitStack, authority: Authority, played: ProviderServer | None
    ) -> Addresses:
        world = self._world
        host, wikidata, searxng = (self._address() for _ in range(3))
        self._place_mail(self._place_sites())
        tls = await asyncio.to_thread(authority.by_name, self._names)
        shown = [server.host for server in self._mail.values()] or ["mail.invalid"]
        mail_tls = await asyncio.to_thread(authority.context, shown)

        async def serve(
            serve: Serve, hosts: Sequence[str], tls: ssl.SSLContext | None = None
        ) -> int:
            port = free_port((*hosts, host)[0])
            await stack.enter_async_context(listening(serve, hosts, port, tls=tls))
            return port

        def http(respond: Respond) -> Serve:
            return speaking_http(respond, self._sleep)

        port = free_port(host)
        await stack.enter_async_context(name_server(self._zone.respond, host, port))
        mail = MailServers(self._mail, mail_tls, self._sleep)
        services = world.services
        up = services.wikidata.failure.kind != "down", services.searxng.failure.kind != "down"
        wikidata_port = await serve(http(WikidataServer(world).respond), [wikidata] * up[0])
        searxng_port = await serve(http(SearxngServer(world).respond), [searxng] * up[1])
        providers_url = None
        if played is not None:
            providers_url = f"http://{host}:{await serve(http(played.respond), [host])}"
        web_ports = free_port(host), free_port(host)
        for scheme, web_port, context in zip(
            ("http", "https"), web_ports, (None, tls), strict=True
        ):
            sites = Sites(world, scheme=scheme, port=web_port)
            await stack.enter_async_context(
                listening(http(sites.respond), self._web, web_port, tls=context)
            )
        return Addresses(
            wikidata_url=f"http://{wikidata}:{wikidata_port}/w/api.php",
            searxng_url=f"http://{searxng}:{searxng_port}",
            providers_url=providers_url,
            dns=f"{host}:{port}",
            smtp_port=await serve(mail.serve, list(self._mail)),
            web_ports=web_ports,
            ca_file=authority.ca_file,
        )

    def _place_sites(self) -> dict[str, str]:
        """Give every site an address and records; return the addresses by domain."""
        sites: dict[str, str] = {}
        for brand in self._world.brands:
            for domain in (brand.domain, *brand.site.former):
                address = sites[domain] = self._address()
                for host in (domain, f"www.{domain}"):
                    self._zone.host(host, address)
                    if brand.site.state == "up":
                        self._names[host] = hosts_of(brand)
                if brand.site.state == "up":
                    self._web.append(address)
        return sites

    def _place_mail(self, sites: dict[str, str]) -> None:
        """Give every mail host an address and records, some those of their *sites*."""
        for mail in mail_domains(self._world):
            mailboxes = Mailboxes(mail.domain, mailbox_states(self._world, mail), self._clock)
            match mail.mx:
                case "null":
                    self._zone.mail(mail.domain, [(0, ".")], mail.dns)
                case "none":
                    self._zone.mail(mail.domain, [], mail.dns)
                    address = sites.get(mail.domain) or self._address()
                    self._mail_host(MailHost(name=mail.domain), address, mail, mailboxes)
                case "records":
                    hosts = mail.hosts or (MailHost(name=f"mx1.{mail.domain}"),)
                    records = [(host.preference, host.name) for host in hosts]
                    self._zone.mail(mail.domain, records, mail.dns)
                    for host in hosts:
                        self._mail_host(host, self._address(), mail, mailboxes)

    def _mail_host(
        self, host: MailHost, address: str, mail: WorldMailDomain, mailboxes: Mailboxes
    ) -> None:
        self._zone.host(host.name, address)
        behaviour = host.behaviour or mail.behaviour
        if behaviour.kind != "down":
            self._mail[address] = MailServer(host.name, behaviour, mailboxes)

    def _address(self) -> str:
        self._next += 1
        return str(self._next)


def free_port(host: str) -> int:
    """Return a port that is free on *host* now; another address may yet refuse it."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port
