"""The service as mail servers see it: whether it reaches them, and whether they accept it."""

import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import msgspec

from cs.doctor.finding import DoctorFinding, failed, not_tried, ok, warning
from cs.doctor.spf import DnsRecords, check_spf
from cs.outside.port import AddressGuard, Unreachable
from cs.verifiers.smtp.connection import ConnectionFailed, connect
from cs.verifiers.smtp.mail_route import find_route
from cs.verifiers.smtp.session import MxAddress

#: Mail domains whose exchangers are tried unless others are named: they take connections from
#: anywhere, and say in their answer to EHLO which address they see.
MAIL_DOMAINS = ("gmail.com", "outlook.com")
CONNECT_S = 5.0
REPLY_S = 10.0
#: Addresses of each mail domain that are tried.
_ADDRESSES = 3

#: RFC 5782, section 5: every list of IPv4 addresses has this one.
_TEST_ADDRESS = "127.0.0.2"
#: Section 2.1: an answer in this network says that the address is listed.
_LISTED = ip_network("127.0.0.0/8")
#: An answer in this one says that the list refuses the question: by an open resolver, or too
#: often.
_REFUSED = ip_network("127.255.255.0/24")

_PORT = "port 25"
_IN_BRACKETS = re.compile(r"\[(?:IPv6:)?([0-9A-Fa-f.:]{2,45})\]")


class SenderSettings(msgspec.Struct, frozen=True):
    """The sender as the settings describe it, and what to try.

    Attributes:
        address: The IP address that mail servers see; ``None``: they are asked.
        lists: DNS lists of senders to look ourselves up in.
        proxy: Of the SOCKS5 server that mail servers are reached through, if they are.
    """

    helo: str
    mail_from: str
    port: int = 25
    mail_domains: Sequence[str] = MAIL_DOMAINS
    address: str | None = None
    lists: Sequence[str] = ()
    proxy: str | None = None


async def check_sender(
    sender: SenderSettings, dns: DnsRecords, guard: AddressGuard
) -> list[DoctorFinding]:
    """Return what mail servers will make of *sender*."""
    port, seen = await _check_port(sender, dns, guard)
    address = sender.address or seen
    helo = await _check_helo(sender.helo, address, dns)
    if address is None:
        said = "which address mail servers see is not known"
        names = ["reverse DNS", "SPF", *(f"list {each}" for each in sender.lists)]
        unknown = [not_tried(each, said, "name it with --address") for each in names]
        return [port, helo, *unknown]
    return [
        port,
        helo,
        await _check_pointer(sender.helo, address, dns),
        await _check_policy(sender, address, dns),
        *[await _check_list(address, zone, dns) for zone in sender.lists],
    ]


async def _check_port(
    sender: SenderSettings, dns: DnsRecords, guard: AddressGuard
) -> tuple[DoctorFinding, str | None]:
    """Return whether mail servers can be reached, and our address as they see it."""
    tried, failures = 0, list[str]()
    for domain in sender.mail_domains:
        try:
            mail = await dns.mail_hosts(domain)
            route = await find_route(mail, dns, guard, sender.port)
        except Unreachable as error:
            failures.append(f"{domain}: {error}")
            continue
        if not route.mx_addresses:
            failures.append(f"{domain}: no address of a mail server that may be contacted")
        for mx in route.mx_addresses[:_ADDRESSES]:
            tried += 1
            try:
                return await _greet(mx, sender)
            except ConnectionFailed as error:
                failures.append(f"{mx.host}: {error.why}")
    why = "; ".join(failures[:3])
    if not tried:
        said = f"no mail server's address could be found out: {why}"
        return not_tried(_PORT, said, "see the finding on DNS"), None
    advice = (
        "ask your provider to open port 25 outwards, or go through a SOCKS5 server where it is "
        "open (`proxy` of `[verifiers.smtp]`); "
        "without it every mailbox is `unknown` and no one is returned"
    )
    return failed(_PORT, f"no connection to {tried} mail servers: {why}", advice), None


async def _greet(mx: MxAddress, sender: SenderSettings) -> tuple[DoctorFinding, str | None]:
    """Return whether *mx* accepts us, and our address if its reply names the one it sees.

    Raises:
        ConnectionFailed: No connection, or no SMTP behind it.
    """
    connection = await connect(
        mx.address,
        mx.port,
        connect_s=CONNECT_S,
        reply_s=REPLY_S,
        note=lambda *_: None,
        proxy=sender.proxy,
    )
    try:
        reply, to = await connection.read_reply(), "the connection"
        if reply.code == 220:
            reply, to = await connection.send(f"EHLO {sender.helo}"), "EHLO"
            with suppress(ConnectionFailed):
                await connection.send("QUIT")
    finally:
        await connection.abort()
    seen = _address_in(reply.text)
    if reply.code == 250:
        return ok(_PORT, f"it is open: {mx.host} answers"), seen
    said = f"it is open, but {mx.host} answers {to} by {reply.code} {reply.text[:200]}"
    return warning(_PORT, said, "see HELO, reverse DNS and lists below"), seen


def _address_in(text: str) -> str | None:
    """Return the first address in brackets of *text*: the one that the server sees.

    >>> _address_in("mx.example at your service, [192.0.2.7]")
    '192.0.2.7'
    """
    for found in _IN_BRACKETS.findall(text):
        with suppress(ValueError):
            return str(ip_address(found))
    return None


async def _check_helo(helo: str, address: str | None, dns: DnsRecords) -> DoctorFinding:
    check = "HELO"
    advice = "set smtp_helo to a host name whose A record is the address that you send from"
    if "." not in helo.strip(".") or helo.lower().endswith((".local", ".localdomain")):
        return failed(check, f"{helo!r} is no host name of the public DNS", advice)
    try:
        addresses = await dns.addresses(helo)
    except Unreachable as error:
        return not_tried(check, f"the addresses of {helo} are not known: {error}")
    if not addresses:
        return failed(check, f"{helo} has no address in DNS", advice)
    if address is None:
        return ok(check, f"{helo} is {', '.join(addresses)}")
    if address not in addresses:
        said = f"{helo} is {', '.join(addresses)}, and mail servers see {address}"
        return failed(check, said, advice)
    return ok(check, f"{helo} is {address}, which mail servers see")


async def _check_pointer(helo: str, address: str, dns: DnsRecords) -> DoctorFinding:
    check = "reverse DNS"
    advice = f"have the owner of the address (your provider) set its PTR record to {helo}"
    try:
        names = await dns.names(address)
        confirmed = [name for name in names[:5] if address in await dns.addresses(name)]
    except Unreachable as error:
        return not_tried(check, f"the names of {address} are not known: {error}")
    if not names:
        return failed(check, f"{address} has no PTR record", advice)
    if not confirmed:
        said = f"{address} is called {', '.join(names[:3])}, which is not {address} in DNS"
        return failed(check, said, advice)
    if helo.lower().rstrip(".") not in confirmed:
        said = f"{address} is called {', '.join(confirmed)}, and we say {helo}"
        return warning(check, said, advice)
    return ok(check, f"{address} is called {helo}")


async def _check_policy(sender: SenderSettings, address: str, dns: DnsRecords) -> DoctorFinding:
    """Return the finding on SPF; without a sender HELO counts (RFC 7208, section 2.4)."""
    domain = sender.mail_from.rpartition("@")[2] or sender.helo
    version = ip_address(address).version
    advice = f"give {domain} a TXT record that allows it: v=spf1 ip{version}:{address} -all"
    match await check_spf(domain, address, dns):
        case "pass":
            return ok("SPF", f"{domain} lets {address} send")
        case "temperror" | "unknown":
            said = f"whether {domain} lets {address} send could not be found out"
            return not_tried("SPF", said)
        case "none":
            return warning("SPF", f"{domain} has no SPF record", advice)
        case "neutral":
            return warning("SPF", f"{domain} does not say whether {address} may send", advice)
        case "permerror":
            return failed("SPF", f"the SPF record of {domain} is wrong", advice)
        case _:
            return failed("SPF", f"{domain} forbids {address} to send", advice)


async def _check_list(address: str, zone: str, dns: DnsRecords) -> DoctorFinding:
    """Return whether *address* is on *zone*, a DNS list of senders (RFC 5782).

    Only lists that the operator names are asked: each is a service with terms of its own, and
    learns from the question who asks.
    """
    check = f"list {zone}"
    try:
        test = await dns.addresses(_name(_TEST_ADDRESS, zone))
        found = await dns.addresses(_name(address, zone))
    except Unreachable as error:
        return not_tried(check, f"the list did not answer: {error}")
    if not _are_in(_LISTED, test) or _are_in(_REFUSED, test):
        said = "the list does not answer questions from here: its test entry is missing"
        return not_tried(check, said, "ask by a name server of your own (the setting dns)")
    if not _are_in(_LISTED, found):
        return ok(check, f"{address} is not listed")
    advice = f"look up why at the site of {zone}, mend it and ask to be taken off"
    return failed(check, f"{address} is listed ({', '.join(found)})", advice)


def _name(address: str, zone: str) -> str:
    """Return the name to ask for (RFC 5782, sections 2.1 and 2.4).

    >>> _name("192.0.2.99", "list.example")
    '99.2.0.192.list.example'
    """
    pointer = ip_address(address).reverse_pointer
    return f"{pointer.removesuffix('.in-addr.arpa').removesuffix('.ip6.arpa')}.{zone}"


def _are_in(network: IPv4Network | IPv6Network, addresses: Sequence[str]) -> bool:
    return any(ip_address(each) in network for each in addresses)
