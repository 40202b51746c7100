"""Which addresses and URLs of strangers may be contacted at all.

Callers name domains and the web names further ones, so every address is judged before
a connection is made: the service must not be a way into the network it stands in.
"""

from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

import httpx

from cs.domain.names.brand_names import is_host_name
from cs.outside.port import Forbidden

#: IPv4 that is not the public unicast internet (IANA IPv4 Special-Purpose Address
#: Registry), multicast and class E.
_CLOSED_IPV4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carrier-grade NAT (RFC 6598)
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # public by number, but the host of an Azure machine
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, limited broadcast
    )
)
#: All that IANA has given out for global unicast.  What lies outside is closed: loopback,
#: link-local, unique local, multicast, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), SRv6, ...
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_CLOSED_IPV6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # IETF protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation (RFC 9637)
    )
)
_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")
#: Characters of a URL that is fetched; RFC 9110 4.1 wants 8,000 octets to work.
URL_MAX = 8_192
_DEFAULT_PORTS = {"http": 80, "https": 443}

Network = IPv4Network | IPv6Network


class Guard:
    """The judge before every connection to a host from outside the settings.

    Args:
        allow_networks: Ranges open in addition to the public internet.
        deny_networks: Ranges closed whatever else is said: the operator's own.
        web_ports: Ports that a URL may name; none named means its scheme's own.
    """

    def __init__(
        self,
        allow_networks: Sequence[Network] = (),
        web_ports: frozenset[int] = frozenset({80, 443}),
        deny_networks: Sequence[Network] = (),
    ) -> None:
        self._denied = tuple(deny_networks)
        self._allowed = tuple(allow_networks)
        self.web_ports = web_ports

    def check(self, address: str) -> None:
        """Return if *address* may be contacted.

        An IPv6 address that carries an IPv4 one is open only if the latter is, too:
        opening NAT64 (``64:ff9b::/96``) does not open 10.0.0.0/8 behind it.

        Raises:
            Forbidden: It may not, or it is no IP address.
        """
        try:
            ip = ip_address(address)
        except ValueError:
            raise Forbidden(f"{address!r} is no IP address") from None
        if "%" in address:
            raise Forbidden(f"{address} names a link of this machine")  # RFC 4007 11
        if not self._is_open(ip):
            raise Forbidden(f"{address} is not on the public internet")

    def check_url(self, url: str) -> None:
        """Return if *url* may be fetched, as far as it tells by itself.

        Its host's addresses are `check`'s, when they are known.

        Raises:
            Forbidden: Another scheme than http(s), a user name, no host, one that is no
                host name (an ``xn--`` label that cannot be decoded, for one), another port,
                a literal address that `check` refuses, more than `URL_MAX` characters, or
                no URL at all.
        """
        if len(url) > URL_MAX:
            raise Forbidden(f"the URL has more than {URL_MAX} characters")
        try:
            parsed = httpx.URL(url)
            host = host_of(parsed)
        except (httpx.InvalidURL, UnicodeError, ValueError):
            raise Forbidden("not a URL") from None
        if parsed.scheme not in _DEFAULT_PORTS:
            raise Forbidden(f"scheme {parsed.scheme!r} is neither http nor https")
        if parsed.userinfo:
            raise Forbidden("the URL carries a user name")
        if not host:
            raise Forbidden("the URL names no host")
        if parsed.port is not None and parsed.port not in self.web_ports:
            raise Forbidden(f"port {parsed.port} is no web port")
        if is_literal(host):
            self.check(host.strip("[]"))
        elif not is_host_name(host):
            raise Forbidden(f"{host!r} is no host name")

    def _is_open(self, ip: IPv4Address | IPv6Address) -> bool:
        if any(ip in net for net in self._denied):
            return False
        if isinstance(ip, IPv4Address):
            return self._is_allowed(ip) or not any(ip in net for net in _CLOSED_IPV4)
        if ip.ipv4_mapped is not None:
            return self._is_open(ip.ipv4_mapped)  # the same endpoint, written longer
        if not all(self._is_open(inner) for inner in _carried(ip)):
            return False
        return self._is_allowed(ip) or (
            ip in _GLOBAL_IPV6 and not any(ip in net for net in _CLOSED_IPV6)
        )

    def _is_allowed(self, ip: IPv4Address | IPv6Address) -> bool:
        return any(ip in net for net in self._allowed)


def host_of(url: httpx.URL) -> str:
    """Return the host of *url* as it would be dialled, not as it was written.

    httpx's own ``url.host`` decodes A-labels, and raises for those that cannot be.
    """
    return url.raw_host.decode("ascii")


def is_literal(host: str) -> bool:
    """Say whether *host* of a URL is an IP address already, in brackets or not."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _carried(ip: IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses that packets to *ip* end up at (RFC 3056, 4380, 6052)."""
    if ip.sixtofour is not None:
        return (ip.sixtofour,)
    if ip.teredo is not None:
        return ip.teredo
    if ip in _NAT64 or (ip in _COMPATIBLE and int(ip) > 1):
        return (IPv4Address(int(ip) & 0xFFFFFFFF),)
    return ()
