"""Who we are to mail servers: whether they can be reached, and whether they will have us."""

import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address

import msgspec

from cs.doctor.dns_lists import check_lists
from cs.doctor.dns_records import DnsRecords
from cs.doctor.finding import DoctorFinding
from cs.doctor.spf import check_spf
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

_PORT = "port 25"
_IN_BRACKETS = re.compile(r"\[(?:IPv6:)?([0-9A-Fa-f.:]{2,45})\]")


class SenderSettings(msgspec.Struct, frozen=True):
    """What the settings say of us, and what is tried.

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
    """Return what mail servers will make of us; raises nothing."""
    port, seen = await _check_port(sender, dns, guard)
    address = sender.address or seen
    if address is None:
        said = "which address mail servers see is not known"
        advice = "name it with --address to have it checked"
        names = ["reverse DNS", "SPF", *(f"list {each}" for each in sender.lists)]
        unknown = [DoctorFinding(name, "not tried", said, advice) for name in names]
        return [port, await _check_helo(sender.helo, None, dns), *unknown]
    return [
        port,
        await _check_helo(sender.helo, address, dns),
        await _check_pointer(sender.helo, address, dns),
        await _check_policy(sender, address, dns),
        *await check_lists(address, sender.lists, dns),
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
    if not tried:
        said = f"no mail server's address could be found out: {'; '.join(failures[:3])}"
        return DoctorFinding(_PORT, "not tried", said, "see what is said of DNS"), None
    said = f"no connection to {tried} mail servers: {'; '.join(failures[:3])}"
    advice = (
        "ask your provider to open port 25 outwards, or go through a SOCKS5 server where it is "
        "open (`proxy` of `[verifiers.smtp]`); "
        "without it every mailbox is `unknown` and no one is returned"
    )
    return DoctorFinding(_PORT, "failed", said, advice), None


async def _greet(mx: MxAddress, sender: SenderSettings) -> tuple[DoctorFinding, str | None]:
    """Return whether *mx* will talk to us, and our address if it says which one it sees.

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
        return DoctorFinding(_PORT, "ok", f"it is open: {mx.host} answers"), seen
    said = f"it is open, but {mx.host} answers {to} by {reply.code} {reply.text[:200]}"
    return DoctorFinding(_PORT, "warning", said, "see HELO, reverse DNS and lists below"), seen


def _address_in(text: str) -> str | None:
    """Return the address in brackets in the answer of a server that says whom it sees.

    >>> _address_in("mx.example at your service, [192.0.2.7]")
    '192.0.2.7'
    """
    for found in _IN_BRACKETS.findall(text):
        try:
            return str(ip_address(found))
        except ValueError:
            continue
    return None


async def _check_helo(helo: str, address: str | None, dns: DnsRecords) -> DoctorFinding:
    check = "HELO"
    advice = "set smtp_helo to a host name whose A record is the address that you send from"
    if "." not in helo.strip(".") or helo.lower().endswith((".local", ".localdomain")):
        return DoctorFinding(
            check, "failed", f"{helo!r} is no host name of the public DNS", advice
        )
    try:
        addresses = await dns.addresses(helo)
    except Unreachable as error:
        return DoctorFinding(
            check, "not tried", f"the addresses of {helo} are not known: {error}"
        )
    if not addresses:
        return DoctorFinding(check, "failed", f"{helo} has no address in DNS", advice)
    if address is None:
        return DoctorFinding(check, "ok", f"{helo} is {', '.join(addresses)}")
    if address not in addresses:
        said = f"{helo} is {', '.join(addresses)}, and mail servers see {address}"
        return DoctorFinding(check, "failed", said, advice)
    return DoctorFinding(check, "ok", f"{helo} is {address}, which mail servers see")


async def _check_pointer(helo: str, address: str, dns: DnsRecords) -> DoctorFinding:
    check = "reverse DNS"
    advice = f"have the owner of the address (your provider) set its PTR record to {helo}"
    try:
        names = await dns.names(address)
        confirmed = [name for name in names[:5] if address in await dns.addresses(name)]
    except Unreachable as error:
        return DoctorFinding(
            check, "not tried", f"the names of {address} are not known: {error}"
        )
    if not names:
        return DoctorFinding(check, "failed", f"{address} has no PTR record", advice)
    if not confirmed:
        said = f"{address} is called {', '.join(names[:3])}, which is not {address} in DNS"
        return DoctorFinding(check, "failed", said, advice)
    if helo.lower().rstrip(".") not in confirmed:
        said = f"{address} is called {', '.join(confirmed)}, and we say {helo}"
        return DoctorFinding(check, "warning", said, advice)
    return DoctorFinding(check, "ok", f"{address} is called {helo}")


async def _check_policy(sender: SenderSettings, address: str, dns: DnsRecords) -> DoctorFinding:
    """Return the finding on SPF; without a sender HELO counts (RFC 7208, section 2.4)."""
    check = "SPF"
    domain = sender.mail_from.rpartition("@")[2] or sender.helo
    result = await check_spf(domain, address, dns)
    advice = f"give {domain} a TXT record that allows it: v=spf1 ip4:{address} -all"
    if ip_address(address).version == 6:
        advice = advice.replace("ip4:", "ip6:")
    match result:
        case "pass":
            return DoctorFinding(check, "ok", f"{domain} lets {address} send")
        case "none":
            return DoctorFinding(check, "warning", f"{domain} has no SPF record", advice)
        case "temperror" | "unknown":
            said = f"whether {domain} lets {address} send could not be found out"
            return DoctorFinding(check, "not tried", said)
        case "permerror":
            return DoctorFinding(
                check, "failed", f"the SPF record of {domain} is wrong", advice
            )
        case "neutral":
            said = f"{domain} does not say whether {address} may send"
            return DoctorFinding(check, "warning", said, advice)
        case _:
            return DoctorFinding(check, "failed", f"{domain} forbids {address} to send", advice)
