"""What the stages ask the outside world with, made from the settings."""

import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any, NoReturn

import msgspec

from cs.assembly.sandbox_plugins import names_in_sandbox
from cs.domain.service import World
from cs.outside.guard import Guard
from cs.outside.http import GuardedClient, TrustedClient, user_agent
from cs.outside.resolver import DnsResolver
from cs.paid_calls.paid import EVERY_TIME, Paid
from cs.pipeline.misconfiguration import NONE, Misconfiguration
from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.plugins.errors import PluginError
from cs.plugins.plugin_settings import NO_SETTINGS, PluginSettings
from cs.plugins.registry import brand_sources, people_sources, verifiers
from cs.plugins.sources import BrandSource, PeopleSource, SourceContext, missing_of
from cs.plugins.verifiers import Verifier, VerifierContext
from cs.runtime.clock import Clock, SystemClock
from cs.settings import BadSettings, Settings
from cs.sources.isolated import IsolatedBrandSource, IsolatedPeopleSource
from cs.verifiers.isolated import IsolatedVerifier

#: Of one DNS question, retries included.
DNS_TIMEOUT_S = 5.0
#: Where mail exchangers of the real world listen (RFC 5321).
SMTP_PORT = 25
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


class StagePlugins(msgspec.Struct, frozen=True):
    """What the stages ask the outside world with."""

    brand_sources: Sequence[BrandSource]
    people_sources: Sequence[PeopleSource]
    verifiers: Sequence[Verifier]
    misconfiguration: Misconfiguration = msgspec.field(default_factory=Misconfiguration)

    @property
    def names(self) -> list[str]:
        """Return the names of all of them."""
        sources = [
            *(s.name for s in self.brand_sources),
            *(s.name for s in self.people_sources),
        ]
        return [*sources, *(verifier.name for verifier in self.verifiers)]


@asynccontextmanager
async def open_plugins(
    settings: Settings,
    clock: Clock | None = None,
    paid: Paid = EVERY_TIME,
    *,
    world: World = "live",
) -> AsyncIterator[StagePlugins]:
    """Open the clients to the outside world and what asks with them.

    Args:
        settings: Name and set up what asks.
        clock: The machine's if ``None``.
        paid: Makes calls that cost money; without a register each time that it is told to.
        world: Of a sandbox, what tells of the real world by heart is left out.

    Raises:
        BadSettings: A source or verifier that is named is not there, or cannot be used.
    """
    clock = clock or SystemClock()
    resolver = DnsResolver(_nameserver(settings.dns), DNS_TIMEOUT_S)
    networks = [ip_network(network) for network in settings.allow_networks]
    denied = [ip_network(network) for network in settings.deny_networks]
    guard = Guard(networks, frozenset(settings.web_ports), denied)
    agent = user_agent(settings.contact)
    ca_file = settings.ca_file
    async with (
        TrustedClient(user_agent=agent, ca_file=ca_file) as trusted,
        GuardedClient(
            guard,
            resolver,
            user_agent=agent,
            web_ports=settings.web_ports,
            ca_file=ca_file,
            monotonic=clock.monotonic,
        ) as guarded,
    ):

        def for_source(name: str) -> SourceContext:
            return SourceContext(
                trusted=trusted,
                guarded=guarded,
                settings=of_source(settings, name),
                now=clock.now,
                paid=paid,
            )

        def for_verifier(name: str) -> VerifierContext:
            return VerifierContext(
                settings=of_verifier(settings, name),
                resolver=resolver,
                guard=guard,
                fetcher=trusted,
                now=clock.now,
                monotonic=clock.monotonic,
                paid=paid,
            )

        brand_names: Sequence[str] | None = settings.brand_sources
        if world == "sandbox":
            installed = names_of(installed_plugins(Group.BRAND_SOURCES))
            brand_names = names_in_sandbox(brand_names, installed)
        people_names = settings.people_sources
        try:
            plugins = StagePlugins(
                [
                    IsolatedBrandSource(each, of_source(settings, each.name))
                    for each in brand_sources(for_source, enabled=brand_names)
                ],
                [
                    IsolatedPeopleSource(each, of_source(settings, each.name))
                    for each in people_sources(for_source, enabled=people_names)
                ],
                [
                    IsolatedVerifier(each, clock.now, of_verifier(settings, each.name))
                    for each in verifiers(for_verifier, enabled=settings.verifiers)
                ],
            )
        except PluginError as error:
            raise BadSettings(str(error)) from error
        yield plugins


def unusable_settings(plugins: StagePlugins) -> dict[str, str]:
    """Return the settings that leave a stage with nobody to ask, and why, for people.

    Nothing is asked: what a plug-in does not say of itself comes out when it is.
    """
    every: Mapping[str, Sequence[BrandSource] | Sequence[PeopleSource]] = {
        "brand_sources": plugins.brand_sources,
        "people_sources": plugins.people_sources,
    }
    found = {}
    for setting, sources in every.items():
        missing = {source.name: missing_of(source) for source in sources}
        if None not in missing.values():
            reasons = "; ".join(f"{name}: {what}" for name, what in missing.items())
            found[setting] = f"nobody can be asked; {reasons or NONE}"
    if not plugins.verifiers:
        found["verifiers"] = f"no mailbox can be verified; {NONE}"
    return found


def of_source(settings: Settings, name: str) -> PluginSettings:
    """Return what the source *name* is given: its table, over what all share.

    ``wikidata_url`` and ``searxng_url`` are older names of a setting in such a table.
    """
    older: Mapping[str, Mapping[str, str | None]] = {
        "wikidata": {"url": settings.wikidata_url},
        "searxng": {"url": settings.searxng_url},
    }
    return _over(settings.plugins.sources.get(name, NO_SETTINGS), older.get(name, {}))


def of_verifier(settings: Settings, name: str) -> PluginSettings:
    """Return what the verifier *name* is given; ``smtp_*`` are older names likewise."""
    smtp = {
        "helo": settings.smtp_helo or socket.getfqdn(),
        "mail_from": settings.smtp_mail_from,
        "port": settings.smtp_port,
    }
    return _over(
        settings.plugins.verifiers.get(name, NO_SETTINGS), smtp if name == "smtp" else {}
    )


def verifier_names(settings: Settings) -> frozenset[str]:
    """Return the names of the verifiers whose word proves a mailbox.

    Those that are enabled, or else all that are installed here, without making any: whoever
    takes the answers of the stages need not be able to ask.
    """
    installed = names_of(installed_plugins(Group.VERIFIERS))
    named = installed if settings.verifiers is None else settings.verifiers
    return frozenset(named) | frozenset(settings.foreign_verifiers)


def check_world(settings: Settings, world: World) -> None:
    """Pass if *settings* go with *world*.

    What points at a made-up world must not reach a log of the real one: its "nobody" would
    be stored as an answer.

    Raises:
        BadSettings: One that only a sandbox may have, and *world* is live.
    """
    if world == "sandbox":
        return
    port = of_verifier(settings, "smtp")["port"]
    if port != SMTP_PORT:
        _only_in_a_sandbox("smtp_port", f"{SMTP_PORT}, not {port}")
    for text in settings.allow_networks:
        network = ip_network(text)
        if any(network.overlaps(own) for own in LOOPBACK if own.version == network.version):
            _only_in_a_sandbox("allow_networks", f"no loopback addresses, not {text}")


def _only_in_a_sandbox(name: str, right: str) -> NoReturn:
    raise BadSettings(f"{name}: {right}: that is for a sandbox; serve with --sandbox")


def _over(given: PluginSettings, older: Mapping[str, Any]) -> PluginSettings:
    return given.with_defaults(
        {name: value for name, value in older.items() if value is not None}
    )


def _nameserver(dns: str | None) -> tuple[str, int] | None:
    if dns is None:
        return None
    host, _, port = dns.rpartition(":")
    if not host or not port.isdecimal():
        raise BadSettings(f"dns: {dns!r} is not host:port, for example 127.0.0.1:53")
    return host.strip("[]"), int(port)
