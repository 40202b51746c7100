"""The service's ways out, built as a test needs them: clients, guard, names, plug-ins."""

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx

from cs.outside.guard import Guard
from cs.outside.http import GuardedClient, TrustedClient, user_agent
from cs.outside.port import Resolver, Response
from cs.outside.resolver import DnsResolver
from cs.outside.robots import Robots
from cs.plugins.entry_points import Group, installed_plugins
from cs.plugins.paid_context import PaidContext
from cs.plugins.registry import load_plugins
from cs.sandbox.certificates import Authority

#: Contact of the operator in what the clients call themselves.
CONTACT = "ops@acme.example"


def guard(
    *allowed: str, denied: Sequence[str] = (), web_ports: tuple[int, ...] = (80, 443)
) -> Guard:
    """Return a guard that opens the networks *allowed* too, and closes *denied*."""
    return Guard(
        [ip_network(each) for each in allowed],
        frozenset(web_ports),
        [ip_network(each) for each in denied],
    )


def trusted_client(*, total_s: float = 10.0, ca_file: Path | None = None) -> TrustedClient:
    """Return the client for addresses of the settings."""
    return TrustedClient(user_agent=user_agent(CONTACT), total_s=total_s, ca_file=ca_file)


def guarded_client(
    names: Resolver,
    *allowed: str,
    web_ports: tuple[int, int],
    total_s: float = 10.0,
    ca_file: Path | None = None,
) -> GuardedClient:
    """Return the client for all other addresses: http and https are at *web_ports*."""
    return GuardedClient(
        guard(*allowed, web_ports=web_ports),
        names,
        user_agent=user_agent(CONTACT),
        web_ports=web_ports,
        total_s=total_s,
        ca_file=ca_file,
    )


def dns_resolver(address: tuple[str, int], timeout_s: float = 5.0) -> DnsResolver:
    """Return what asks the DNS server at *address*."""
    return DnsResolver(address, timeout_s=timeout_s)


def robots(
    fetch: Callable[[httpx.URL], Awaitable[Response]], monotonic: Callable[[], float]
) -> Robots:
    """Return what obeys the robots.txt that *fetch* returns."""
    return Robots(fetch, robot="contact-search", monotonic=monotonic)


def certificates(folder: Path) -> Authority:
    """Return an authority that signs for hosts; its own certificate is in *folder*."""
    return Authority(folder)


_points = cache(installed_plugins)  # reading them takes longer than making a plug-in


def plugin(group: Group, name: str, context: PaidContext) -> Any:
    """Return the service's own plug-in *name*; ``None`` for a verifier that is not set up."""
    made = load_plugins(group, lambda _: context, enabled=[name], installed=_points(group))
    return made[0] if made else None
