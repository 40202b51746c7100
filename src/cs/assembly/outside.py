"""What leads outside, as the settings say: the name server that is asked, and the guard."""

from ipaddress import ip_network

from cs.metrics.metrics import Metrics
from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.runtime.clock import Clock, SystemClock
from cs.settings import BadSettings, Settings

#: Of one DNS question, retries included.
DNS_TIMEOUT_S = 5.0


def name_resolver(
    settings: Settings, clock: Clock | None = None, metrics: Metrics | None = None
) -> DnsResolver:
    """Return what finds out about names; answers grow old by *clock*, or the machine's.

    Raises:
        BadSettings: ``dns`` is not host:port.
    """
    monotonic = (clock or SystemClock()).monotonic
    nameserver = _nameserver(settings.dns)
    return DnsResolver(nameserver, DNS_TIMEOUT_S, monotonic=monotonic, metrics=metrics)


def address_guard(settings: Settings) -> Guard:
    """Return the judge of addresses that somebody else named."""
    return Guard(
        [ip_network(network) for network in settings.allow_networks],
        frozenset(settings.web_ports),
        [ip_network(network) for network in settings.deny_networks],
    )


def _nameserver(dns: str | None) -> tuple[str, int] | None:
    if dns is None:
        return None
    host, _, port = dns.rpartition(":")
    if not host or not port.isdecimal():
        raise BadSettings(f"dns: {dns!r} is not host:port, for example 127.0.0.1:53")
    return host.strip("[]"), int(port)
