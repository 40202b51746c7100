"""DNS over dnspython's asyncio resolver: addresses of hosts, exchangers of mail domains."""

import asyncio
import time
from ipaddress import ip_address

import dns.asyncresolver
import dns.exception
import dns.name
import dns.rdatatype
import dns.resolver
import dns.reversename
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.PTR import PTR

from cs.metrics.metrics import Metrics
from cs.outside.port import MailHosts, Unreachable

#: An answer is used again for as long as its TTL says, but no longer than this.
LONGEST_S = 300.0
#: Answers kept at most, some 5 KB each; the least recently used goes first.
ANSWERS = 1_024
#: Records of a response that is kept; a zone of a stranger could fill 64 KiB with them.
_RECORDS = 100


class _Answers(dns.resolver.LRUCache):
    """dnspython's cache, with a limit to the time and the size of an answer.

    Args:
        metrics: Where entries, hits and misses are counted, as ``dns-answers``.
    """

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(ANSWERS)
        self._counters = metrics.cache("dns-answers", lambda: len(self.data), ANSWERS)

    def get(self, key: dns.resolver.CacheKey) -> dns.resolver.Answer | None:
        found = super().get(key)
        if found is not None:
            self._counters.hits.inc()
        elif key[1] == dns.rdatatype.ANY:  # asked for last: is there such a name at all?
            self._counters.misses.inc()
        return found

    def put(self, key: dns.resolver.CacheKey, value: dns.resolver.Answer) -> None:
        sections = value.response.sections
        if sum(len(rrset) for section in sections for rrset in section) <= _RECORDS:
            value.expiration = min(value.expiration, time.time() + LONGEST_S)
            super().put(key, value)


class DnsResolver:
    """Implements `cs.outside.port.Resolver`.

    Args:
        nameserver: (IP address, port) to ask; ``None`` for what the system is set to.
        timeout_s: Limit for one question, retries included.
        metrics: Where kept answers are counted.

    Raises:
        dns.resolver.NoResolverConfiguration: *nameserver* is ``None`` and the system has
            none.
    """

    def __init__(
        self,
        nameserver: tuple[str, int] | None,
        timeout_s: float,
        *,
        metrics: Metrics | None = None,
    ) -> None:
        self._resolver = dns.asyncresolver.Resolver(configure=nameserver is None)
        if nameserver is not None:
            host, self._resolver.port = nameserver
            self._resolver.nameservers = [host]
        self._resolver.cache = _Answers(metrics or Metrics())
        self._resolver.lifetime = timeout_s
        self._resolver.timeout = max(timeout_s / 3, 0.05)  # a lost packet is asked again

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of *host*, IPv4 first; a literal address is its own.

        Raises:
            Unreachable: As the port says; not if one of A and AAAA was answered with
                addresses.
        """
        try:
            return (str(ip_address(host)),)
        except ValueError:
            pass
        kinds = (dns.rdatatype.A, dns.rdatatype.AAAA)
        answers = await asyncio.gather(
            *(self._records(host, kind) for kind in kinds), return_exceptions=True
        )
        errors = [each for each in answers if isinstance(each, BaseException)]
        records = [one for each in answers if isinstance(each, list) for one in each]
        if errors and not (records and isinstance(errors[0], Unreachable)):
            raise errors[0]
        return tuple(record.to_text() for record in records)

    async def mail_hosts(self, domain: str) -> MailHosts:
        """Return where *domain* takes mail; hosts of one preference in order of name.

        Raises:
            Unreachable: As the port says.
        """
        records = await self._records(domain, dns.rdatatype.MX)
        if records is None:
            return MailHosts(exists=False)
        exchangers = sorted(
            (record.preference, _text(record.exchange))
            for record in records
            if isinstance(record, MX)
        )
        if not exchangers:
            # RFC 5321, 5.1: without MX the domain is its own exchanger.
            return MailHosts(hosts=(domain,) if await self.addresses(domain) else ())
        hosts = tuple(dict.fromkeys(host for _, host in exchangers if host))
        return MailHosts(hosts=hosts, null_mx=not hosts)  # RFC 7505: one record, "."

    async def names(self, address: str) -> tuple[str, ...]:
        """Return the names that the IP address *address* has by its PTR records.

        Raises:
            Unreachable: As the port says.
        """
        pointer = dns.reversename.from_address(address).to_text()
        records = await self._records(pointer, dns.rdatatype.PTR) or []
        return tuple(_text(record.target) for record in records if isinstance(record, PTR))

    async def _records(
        self, name: str, kind: dns.rdatatype.RdataType
    ) -> list[dns.rdata.Rdata] | None:
        """Return the records of *name*, CNAMEs followed; ``[]`` if it has none of *kind*.

        ``None`` is NXDOMAIN, or no name that DNS could hold.

        Raises:
            Unreachable: No answer, or none that can be used.
        """
        try:
            question = dns.name.from_text(name)
        except dns.exception.DNSException:
            return None
        try:
            answer = await self._resolver.resolve(
                question, kind, raise_on_no_answer=False, search=False
            )
        except dns.resolver.NXDOMAIN:
            return None
        except (dns.exception.DNSException, OSError) as error:
            raise Unreachable("dns", f"{name}: {error}") from error
        return list(answer.rrset or ())


def _text(name: dns.name.Name) -> str:
    return name.to_text(omit_final_dot=True).lower() if name != dns.name.root else ""
