"""Mailboxes checked a second: at one mail domain, and over many, beside Reacher's way.

    PYTHONPATH=tests .venv/bin/python bench/mailboxes.py [--domains N] [--reply-ms MS] [--json]

Every exchanger is a server of its own on loopback, in another process, and takes `reply_ms`
for each reply, as one that far away does.  One in three addresses exists; the rest are refused
with 550 5.1.1.

**What the Reacher figure is based on.** Reacher itself (Rust, with a headless browser for some
providers) is not run here.  `reference` is a client that says what `check-if-email-exists` says
(core/src/smtp/connect.rs, read in November 2026): for every address a connection of its own,
EHLO, MAIL FROM, RCPT of a random name, RCPT of the address, QUIT, each awaited.  At one domain
it works under our politeness, one session at a time; over many domains at its worker's default
of 5 addresses at once (backend_config.toml).  It is Python, as ours is: what is compared is how
often each waits, not how fast it computes.
"""

import argparse
import asyncio
import json
import multiprocessing
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from ipaddress import IPv4Network
from multiprocessing.connection import Connection

from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.verifiers.smtp.identity import Identity
from cs.verifiers.smtp.session import SmtpTimeouts
from cs.verifiers.smtp.verifier import SmtpVerifier
from verifiers.smtp.dns_server import dns_server

#: Addresses asked about at the one domain, and at each of many.
AT_ONE, AT_EACH = 30, 4
REFERENCE_AT_ONCE = 5
#: The other side waits for ever; a busy machine must not make a timeout of ours.
PATIENT = SmtpTimeouts(address_s=600.0, connect_s=120.0, reply_s=120.0)
PORT = 2599


def ip_of(number: int) -> str:
    return f"127.78.{number // 200}.{number % 200 + 1}"


def addresses(domain: str, count: int) -> list[str]:
    """Return addresses of which every third exists."""
    return [f"{'real' if n % 3 == 0 else 'ghost'}{n}@{domain}" for n in range(count)]


def world(domains: int, reply_s: float, ready: Connection) -> None:
    """Serve *domains* exchangers until the parent says so."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(text: str) -> None:
            await asyncio.sleep(reply_s)
            writer.write(f"{text}\r\n".encode())

        await say("220 mx.test ESMTP")
        while line := await reader.readline():
            command = line.decode().strip()
            if command.startswith("RCPT"):
                known = command.partition("<")[2].startswith("real")
                await say("250 2.1.5 Ok" if known else "550 5.1.1 User unknown")
            else:
                await say("221 2.0.0 Bye" if command == "QUIT" else "250 mx.test")
            if command == "QUIT":
                break
        writer.close()

    async def run() -> None:
        async with AsyncExitStack() as stack:
            for number in range(domains):
                server = await asyncio.start_server(talk, ip_of(number), PORT, backlog=200)
                await stack.enter_async_context(server)
            ready.send(None)
            await asyncio.to_thread(ready.recv)

    asyncio.run(run())


async def reference(address: str, number: int) -> bool:
    """Ask about one address in Reacher's way; say whether it is deliverable."""
    reader, writer = await asyncio.open_connection(ip_of(number), PORT)
    await reader.readline()

    async def send(command: str) -> bytes:
        writer.write(f"{command}\r\n".encode())
        return await reader.readline()

    domain = address.partition("@")[2]
    await send("EHLO out.verify.test")
    await send("MAIL FROM:<check@verify.test>")
    accepts_all = (await send(f"RCPT TO:<zqxj7k2m9v4b8wp@{domain}>")).startswith(b"250")
    accepted = (await send(f"RCPT TO:<{address}>")).startswith(b"250")
    await send("QUIT")
    writer.close()
    return accepted and not accepts_all


async def by_reference(asked: Sequence[tuple[int, Sequence[str]]], at_once: int) -> int:
    places = asyncio.Semaphore(at_once)

    async def one(address: str, number: int) -> bool:
        async with places:
            return await reference(address, number)

    found = await asyncio.gather(*(one(a, number) for number, each in asked for a in each))
    return sum(found)


async def by_ours(asked: Sequence[tuple[int, Sequence[str]]], dns: tuple[str, int]) -> int:
    """Ask with the verifier of the service, all mail domains side by side."""
    verifier = SmtpVerifier(
        DnsResolver(dns, timeout_s=5.0),
        Guard(allow_networks=(IPv4Network("127.78.0.0/16"),)),
        identities=[Identity("out.verify.test", "check@verify.test")],
        port=PORT,
        now=lambda: datetime.now(UTC),
        monotonic=time.monotonic,
        timeouts=PATIENT,
    )

    async def one(each: Sequence[str]) -> int:
        domain = each[0].partition("@")[2]
        async with verifier.open(domain, DomainFacts()) as check:
            found = [(await check.check(address)).verdict for address in each]
        return found.count(Verdict.DELIVERABLE)

    return sum(await asyncio.gather(*(one(each) for _, each in asked)))


async def measure(domains: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    async with dns_server() as zone:
        for number in range(domains):
            zone.add(f"d{number}.test", MX=[f"10 mx{number}.test."])
            zone.add(f"mx{number}.test", A=[ip_of(number)])
        for name, count, each, at_once in (
            ("one domain", 1, AT_ONE, 1),
            (f"{domains} domains", domains, AT_EACH, REFERENCE_AT_ONCE),
        ):
            asked = [(n, addresses(f"d{n}.test", each)) for n in range(count)]
            total = count * each
            expected = sum(a.startswith("real") for _, found in asked for a in found)
            row: dict[str, object] = {"what": name, "addresses": total}
            for who, asking in (
                ("reference", by_reference(asked, at_once)),
                ("ours", by_ours(asked, zone.address)),
            ):
                began, cpu = time.monotonic(), time.process_time()
                assert await asking == expected, f"{who} is wrong about {name}"
                row[f"{who}_per_s"] = round(total / (time.monotonic() - began), 1)
                row[f"{who}_cpu_ms"] = round(1e3 * (time.process_time() - cpu) / total, 2)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=200)
    parser.add_argument("--reply-ms", type=float, default=40.0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    here, there = multiprocessing.Pipe()
    serving = multiprocessing.Process(
        target=world, args=(chosen.domains, chosen.reply_ms / 1e3, there), daemon=True
    )
    serving.start()
    here.recv()
    try:
        rows = asyncio.run(measure(chosen.domains))
    finally:
        here.send(None)
        serving.join(10)
    if chosen.json:
        print(json.dumps(rows))
        return
    for row in rows:
        ours, other = float(str(row["ours_per_s"])), float(str(row["reference_per_s"]))
        print(
            f"{row['what']:>12}: {row['addresses']} addresses, ours {ours}/s, "
            f"Reacher's way {other}/s: {ours / other:.1f} times; processor "
            f"{row['ours_cpu_ms']} and {row['reference_cpu_ms']} ms an address"
        )


if __name__ == "__main__":
    main()
