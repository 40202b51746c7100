"""What leads outside, as the settings say: the name server that is asked, and the guard."""

from ipaddress import ip_network

from cs.metrics.metrics import Metrics
from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.settings import BadSettings, Settings

#: Of one DNS question, retries included.
DNS_TIMEOUT_S = 5.0


def name_resolver(settings: Settings, metrics: Metrics | None = None) -> DnsResolver:
    """Return what finds out about names.

    Raises:
        BadSettings: ``dns`` is not host:port.
    """
    return DnsResolver(_nameserver(settings.dns), DNS_TIMEOUT_S, metrics=metrics)


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
