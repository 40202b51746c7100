"""The checks of ``cs doctor``: this machine, its servers, and what mail servers see of us.

Each returns findings and raises nothing.
"""

import logging
import re
import resource
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryFile
from typing import Literal, Protocol

import asyncpg
import msgspec

from cs.bus.kafka.settings import CannotApply, KafkaSettings
from cs.bus.kafka.topics import describe
from cs.bus.port import BusUnavailable
from cs.bus.topics import TOPICS
from cs.outside.port import AddressGuard, Resolver, Unreachable
from cs.postgres.clock import MOST_SKEW_S, DatabaseTime
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import Store
from cs.postgres.schema import check as check_schema
from cs.runtime.private_files import exposed
from cs.verifiers.smtp.connection import NoUsableReply, connect
from cs.verifiers.smtp.mail_route import MxAddress, find_route

#: ``failed``: searches come to nothing or data is in danger; ``warning``: they are worse than
#: they could be; ``not tried``: it could not be found out, and `DoctorFinding.said` says why.
State = Literal["ok", "warning", "failed", "not tried"]


class DoctorFinding(msgspec.Struct, frozen=True):
    """The result of one check.

    Attributes:
        check: Its name, stable: ``port 25``.
        said: What was found, one sentence.
        advice: What to do about it; ``None`` where nothing is to be done.
    """

    check: str
    state: State
    said: str
    advice: str | None = None


GIB = 1 << 30
#: An event takes 1.3 KB on SQLite (a log of 10 million: 13.2 GB), a live search some hundred.
ENOUGH_BYTES, LITTLE_BYTES = 10 * GIB, GIB
#: A call that is held is an open file, and so is each connection to the outside.
FILES = 4_096
#: A date in a head is right to the second (RFC 9110, section 5.6.7), and some way behind.
CLOSE_S, FAR_S = 5.0, 60.0


def check_disk(folder: Path) -> DoctorFinding:
    """Return whether *folder*, which need not exist yet, can be written and has room."""
    there = next(
        each for each in (folder.absolute(), *folder.absolute().parents) if each.exists()
    )
    if not there.is_dir():
        return DoctorFinding(
            "disk", "failed", f"{there} is no folder", "name another with --data-dir"
        )
    try:
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        said = f"{there} cannot be written: {error.strerror}"
        advice = "give this user the right to write it, or name another folder with --data-dir"
        return DoctorFinding("disk", "failed", said, advice)
    free = shutil.disk_usage(there).free
    said = f"{free / GIB:.1f} GiB free for {folder}"
    if free >= ENOUGH_BYTES:
        return DoctorFinding("disk", "ok", said)
    advice = (
        "make room; the service stops taking searches when the disk is full, and loses none"
    )
    state: State = "failed" if free < LITTLE_BYTES else "warning"
    return DoctorFinding("disk", state, said, advice)


def check_secret_file(setting: str, path: Path) -> DoctorFinding:
    """Return whether other users may read *path*, the file of *setting*."""
    check = f"file {setting}"
    try:
        problem = exposed(path)
    except OSError as error:
        said = f"{path} cannot be looked at: {error.strerror}"
        return DoctorFinding(
            check, "failed", said, f"mend its rights, or set {setting} to another"
        )
    if problem is None:
        return DoctorFinding(check, "ok", f"only its owner can read {path}")
    said, _, advice = problem.partition("; ")
    return DoctorFinding(check, "failed", said, advice)


def check_open_files(holds: int) -> DoctorFinding:
    """Return whether this process may open enough files to hold *holds* calls at once."""
    wanted = max(FILES, 2 * holds)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit in {-1, resource.RLIM_INFINITY} or limit >= wanted:
        return DoctorFinding("open files", "ok", f"at most {limit}, and {wanted} are enough")
    advice = f"ulimit -n {wanted}, or LimitNOFILE={wanted} in the unit of systemd"
    return DoctorFinding(
        "open files", "warning", f"at most {limit} at once, and {wanted} may be", advice
    )


def check_clock(now: datetime, date: str | None, source: str) -> DoctorFinding:
    """Return how far this machine's clock is off.

    Args:
        now: Its time, in UTC.
        date: The ``Date`` field of an answer that came at that time.
        source: Who gave that answer, for people.
    """
    try:
        off = (now - parsedate_to_datetime(date or "")).total_seconds()
    except (TypeError, ValueError, OverflowError):  # no date, or one without a zone
        return DoctorFinding("clock", "not tried", f"{source} does not say what time it is")
    if abs(off) <= CLOSE_S:
        return DoctorFinding("clock", "ok", f"as {source} has it, to within {CLOSE_S:g} s")
    said = f"{abs(off):,.0f} s {'ahead of' if off > 0 else 'behind'} what {source} says"
    advice = "let it follow NTP: timedatectl set-ntp true"
    state: State = "failed" if abs(off) > FAR_S else "warning"
    return DoctorFinding("clock", state, said, advice)


async def check_database(
    setting: str, store: Store, dsn: str, *, insecure: bool
) -> DoctorFinding:
    """Return whether the database of *setting* answers and has this version's schema."""
    check = f"database {setting}"
    try:
        async with (
            open_pool(dsn, role="doctor", most=2, insecure=insecure) as pool,
            connected(pool) as connection,
        ):
            await check_schema(connection, store)
            time = DatabaseTime(pool)
            await time.ask()
            version = ".".join(map(str, connection.get_server_version()[:2]))
    except DatabaseUnavailable as error:
        advice = "see that the server runs and lets this user in"
        return DoctorFinding(check, "failed", str(error), advice)
    except WrongSchema as error:
        return DoctorFinding(check, "failed", str(error), "run `cs db migrate`")
    except (ValueError, asyncpg.PostgresError) as error:  # InsecureAddress is a ValueError
        return DoctorFinding(check, "failed", str(error), f"mend the setting {setting}")
    if abs(time.skew_s) > MOST_SKEW_S:
        said = f"this machine's clock is {time.skew_s:+.1f} s off the database's"
        return DoctorFinding(
            check, "failed", said, "let both follow NTP; roles are not ready so"
        )
    return DoctorFinding(
        check, "ok", f"PostgreSQL {version} answers, its schema is this version's"
    )


async def check_brokers(on: KafkaSettings) -> DoctorFinding:
    """Return whether the brokers of *on* answer and have the topics of this version."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters is in the finding
    try:
        states = await describe(on, TOPICS)
    except (BusUnavailable, CannotApply) as error:
        advice = "see that brokers run, and that the settings kafka... are theirs"
        return DoctorFinding("Kafka", "failed", str(error), advice)
    there = {state.name for state in states}
    missing = sorted({on.on_broker(plan.name) for plan in TOPICS} - there)
    if missing:
        said = f"topics are missing: {', '.join(missing)}"
        return DoctorFinding("Kafka", "failed", said, "run `cs topics apply`")
    if any(state.replication < 2 for state in states):
        said = f"{len(states)} topics, some on one broker only"
        advice = "a broker that is lost takes them along: replicate them to 3"
        return DoctorFinding("Kafka", "warning", said, advice)
    return DoctorFinding("Kafka", "ok", f"brokers answer and have the {len(states)} topics")


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
    port: int
    mail_domains: Sequence[str]
    address: str | None
    proxy: str | None


async def check_sender(
    sender: SenderSettings, dns: DnsNames, guard: AddressGuard
) -> list[DoctorFinding]:
    """Return what mail servers will make of *sender*."""
    port, seen = await _check_port(sender, dns, guard)
    address = sender.address or seen
    helo = await _check_helo(sender.helo, address, dns)
    if address is None:
        said = "which address mail servers see is not known"
        return [
            port,
            helo,
            DoctorFinding("reverse DNS", "not tried", said, "name it with --address"),
        ]
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
        return DoctorFinding(_PORT, "not tried", said, "see the finding on DNS"), None
    advice = (
        "ask your provider to open port 25 outwards, or go through a SOCKS5 server where it is "
        "open (`proxy` of `[verifiers.smtp]`); "
        "without it every mailbox is `unknown` and no one is returned"
    )
    return DoctorFinding(
        _PORT, "failed", f"no connection to {tried} mail servers: {why}", advice
    ), None


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
        return DoctorFinding(_PORT, "ok", f"it is open: {mx.host} answers"), seen
    said = f"it is open, but {mx.host} answers {to} by {reply.code} {reply.text[:200]}"
    return DoctorFinding(_PORT, "warning", said, "see HELO and reverse DNS below"), seen


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


async def _check_pointer(helo: str, address: str, dns: DnsNames) -> DoctorFinding:
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
