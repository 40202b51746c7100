"""The service as mail servers see it: whether it reaches them, and whether they accept it."""

import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Protocol

import msgspec

from cs.doctor.finding import DoctorFinding, failed, not_tried, ok, warning
from cs.outside.port import AddressGuard, Resolver, Unreachable
from cs.verifiers.smtp.connection import NoUsableReply, connect
from cs.verifiers.smtp.mail_route import MxAddress, find_route

#: Mail domains whose exchangers are tried unless others are named: they take connections from
#: anywhere, and say in their answer to EHLO which address they see.
MAIL_DOMAINS = ("gmail.com", "outlook.com")
CONNECT_S = 5.0
REPLY_S = 10.0
#: Addresses of each mail domain that are tried.
_ADDRESSES = 3

_PORT = "port 25"
_IN_BRACKETS = re.compile(r"\[(?:IPv6:)?([0-9A-Fa-f.:]{2,45})\]")


class DnsNames(Resolver, Protocol):
    """The DNS questions of the checks; `cs.outside.resolver` answers them."""

    async def names(self, address: str) -> tuple[str, ...]:
        """Return the names that an IP address has by its PTR records, lower-case."""


class SenderSettings(msgspec.Struct, frozen=True):
    """The sender as the settings describe it, and what to try.

    Attributes:
        address: The IP address that mail servers see; ``None``: they are asked.
        proxy: Of the SOCKS5 server that mail servers are reached through, if they are.
    """

    helo: str
    port: int = 25
    mail_domains: Sequence[str] = MAIL_DOMAINS
    address: str | None = None
    proxy: str | None = None


async def check_sender(
    sender: SenderSettings, dns: DnsNames, guard: AddressGuard
) -> list[DoctorFinding]:
    """Return what mail servers will make of *sender*."""
    port, seen = await _check_port(sender, dns, guard)
    address = sender.address or seen
    helo = await _check_helo(sender.helo, address, dns)
    if address is None:
        said = "which address mail servers see is not known"
        return [port, helo, not_tried("reverse DNS", said, "name it with --address")]
    return [port, helo, await _check_pointer(sender.helo, address, dns)]


async def _check_port(
    sender: SenderSettings, dns: DnsNames, guard: AddressGuard
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
            except NoUsableReply as error:
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
        NoUsableReply: No connection, or no SMTP behind it.
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
            with suppress(NoUsableReply):
                await connection.send("QUIT")
    finally:
        await connection.abort()
    seen = _address_in(reply.text)
    if reply.code == 250:
        return ok(_PORT, f"it is open: {mx.host} answers"), seen
    said = f"it is open, but {mx.host} answers {to} by {reply.code} {reply.text[:200]}"
    return warning(_PORT, said, "see HELO and reverse DNS below"), seen


def _address_in(text: str) -> str | None:
    """Return the first address in brackets of *text*: the one that the server sees.

    >>> _address_in("mx.example at your service, [192.0.2.7]")
    '192.0.2.7'
    """
    for found in _IN_BRACKETS.findall(text):
        with suppress(ValueError):
            return str(ip_address(found))
    return None


async def _check_helo(helo: str, address: str | None, dns: DnsNames) -> DoctorFinding:
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


async def _check_pointer(helo: str, address: str, dns: DnsNames) -> DoctorFinding:
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
