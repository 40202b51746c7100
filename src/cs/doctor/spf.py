"""Whether a domain lets an address send mail in its name (SPF, RFC 7208).

All mechanisms but ``exists`` and ``ptr`` are followed; a record that needs one of these two,
or a macro, before anything else matches has the result ``unknown``.
"""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import Literal, Protocol

from cs.outside.port import Resolver, Unreachable

SpfResult = Literal[
    "none", "pass", "fail", "softfail", "neutral", "temperror", "permerror", "unknown"
]
_BY_SIGN: dict[str, SpfResult] = {"+": "pass", "-": "fail", "~": "softfail", "?": "neutral"}
#: RFC 7208, section 4.6.4: mechanisms and modifiers of a whole check that ask DNS.
LOOKUPS = 10
#: Section 4.6.4: hosts of one ``mx`` whose addresses are asked for.
_EXCHANGERS = 10


class DnsRecords(Resolver, Protocol):
    """The DNS questions of the checks; `cs.outside.resolver` answers them.

    Every method raises `cs.outside.port.Unreachable` where there is no usable answer.
    """

    async def texts(self, name: str) -> tuple[str, ...]:
        """Return the TXT records of *name*, the strings of each joined."""

    async def names(self, address: str) -> tuple[str, ...]:
        """Return the names that an IP address has by its PTR records, lower-case."""


class _SpfEnd(Exception):
    def __init__(self, result: SpfResult) -> None:
        super().__init__(result)
        self.result = result


async def check_spf(domain: str, address: str, dns: DnsRecords) -> SpfResult:
    """Return what the SPF record of *domain* says of mail from the IP address *address*."""
    try:
        return await _Check(address, dns).of(domain)
    except Unreachable:
        return "temperror"
    except _SpfEnd as end:
        return end.result


class _Check:
    def __init__(self, address: str, dns: DnsRecords) -> None:
        self._address = ip_address(address)
        self._dns = dns
        self._lookups = 0

    async def of(self, domain: str) -> SpfResult:
        """Return the result of the record of *domain*.

        Raises:
            Unreachable: No answer.
            _SpfEnd: A result that ends the whole check (section 5.2).
        """
        texts = await self._dns.texts(domain)
        records = [text for text in texts if text.lower().split(" ", 1)[0] == "v=spf1"]
        if not records:
            return "none"
        if len(records) > 1:  # section 4.5
            raise _SpfEnd("permerror")
        terms, redirect = records[0].split()[1:], None
        for term in terms:
            name, is_modifier, value = term.partition("=")
            if is_modifier and name.isidentifier():
                redirect = value if name.lower() == "redirect" else redirect
                continue
            sign, mechanism = (term[0], term[1:]) if term[0] in _BY_SIGN else ("+", term)
            if await self._matches(mechanism, domain):
                return _BY_SIGN[sign]
        if redirect is None:
            return "neutral"  # section 4.7
        self._count()
        result = await self.of(_plain(redirect))
        return "permerror" if result == "none" else result  # section 6.1

    async def _matches(self, mechanism: str, domain: str) -> bool:
        name, colon, rest = mechanism.partition(":")
        if not colon:
            name, slash, length = mechanism.partition("/")
            rest = slash + length
        match name.lower():
            case "all":
                return True
            case "ip4" | "ip6":
                return self._is_in(rest)
            case "include":
                self._count()
                result = await self.of(_plain(rest))
                if result == "none":
                    raise _SpfEnd("permerror")  # section 5.2
                return result == "pass"
            case "a" | "mx":
                self._count()
                host, slash, lengths = rest.partition("/")
                return await self._is_host(
                    name.lower(), _plain(host or domain), slash + lengths
                )
            case "exists" | "ptr":
                raise _SpfEnd("unknown")
            case _:
                raise _SpfEnd("permerror")

    async def _is_host(self, kind: str, host: str, lengths: str) -> bool:
        hosts: Sequence[str] = [host]
        if kind == "mx":
            found = await self._dns.mail_hosts(host)
            hosts = () if found.implicit else found.hosts[:_EXCHANGERS]
        for each in hosts:
            if self._is_near(await self._dns.addresses(each), lengths):
                return True
        return False

    def _is_in(self, text: str) -> bool:
        """Return whether our address is in the network *text*."""
        try:
            network = ip_network(text, strict=False)
        except ValueError:
            raise _SpfEnd("permerror") from None
        return network.version == self._address.version and self._address in network

    def _is_near(self, addresses: Sequence[str], lengths: str) -> bool:
        """Return whether our address is in the network of one of *addresses*.

        *lengths* are those of the networks, ``/24``, ``//64`` (of IPv6) or ``/24//64``;
        without them only the addresses themselves count.
        """
        four, _, six = lengths.partition("//")
        own = four.removeprefix("/") if self._address.version == 4 else six
        length = own or str(self._address.max_prefixlen)
        same = [each for each in addresses if ip_address(each).version == self._address.version]
        return any(self._is_in(f"{each}/{length}") for each in same)

    def _count(self) -> None:
        self._lookups += 1
        if self._lookups > LOOKUPS:
            raise _SpfEnd("permerror")


def _plain(name: str) -> str:
    if "%" in name:  # a macro, section 7
        raise _SpfEnd("unknown")
    return name.rstrip(".")
