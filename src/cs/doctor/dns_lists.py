"""Whether an address is on a DNS list of senders (RFC 5782).

Lists are asked only where an operator names them: each is somebody's service with terms of its
own, and learns from a question who asks.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from cs.doctor.dns_records import DnsRecords
from cs.doctor.finding import DoctorFinding
from cs.outside.port import Unreachable

#: RFC 5782, section 5: every list of IPv4 addresses has this one.
_TEST_ADDRESS = "127.0.0.2"
#: Section 2.1: what says that an address is listed.
_LISTED = ip_network("127.0.0.0/8")
#: What says that a list does not answer whoever asks: by an open resolver, or too often.
_REFUSED = ip_network("127.255.255.0/24")


async def check_lists(
    address: str, lists: Sequence[str], dns: DnsRecords
) -> list[DoctorFinding]:
    """Return a finding for each of *lists*, ``zen.example.org``; raises nothing."""
    return [await _check(address, zone, dns) for zone in lists]


async def _check(address: str, zone: str, dns: DnsRecords) -> DoctorFinding:
    check = f"list {zone}"
    try:
        test = await dns.addresses(_name(_TEST_ADDRESS, zone))
        found = await dns.addresses(_name(address, zone))
    except Unreachable as error:
        return DoctorFinding(check, "not tried", f"the list did not answer: {error}")
    if not _are_in(_LISTED, test) or _are_in(_REFUSED, test):
        said = "the list does not answer questions from here: its test entry is missing"
        return DoctorFinding(
            check, "not tried", said, "ask by a name server of your own (the setting dns)"
        )
    if not _are_in(_LISTED, found):
        return DoctorFinding(check, "ok", f"{address} is not listed")
    advice = f"look up why at the site of {zone}, mend it and ask to be taken off"
    return DoctorFinding(check, "failed", f"{address} is listed ({', '.join(found)})", advice)


def _name(address: str, zone: str) -> str:
    """Return the name to ask for (RFC 5782, sections 2.1 and 2.4).

    >>> _name("192.0.2.99", "list.example")
    '99.2.0.192.list.example'
    """
    pointer = ip_address(address).reverse_pointer
    return f"{pointer.removesuffix('.in-addr.arpa').removesuffix('.ip6.arpa')}.{zone}"


def _are_in(network: IPv4Network | IPv6Network, addresses: Sequence[str]) -> bool:
    return any(ip_address(each) in network for each in addresses)
