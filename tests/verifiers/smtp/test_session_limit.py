"""However many mail domains lie behind one exchanger, it sees few sessions of ours at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from ipaddress import IPv4Network

import pytest

from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.plugins.verifiers import VerifierContext
from cs.verifiers.smtp.exchanger import Exchanger
from cs.verifiers.smtp.identity import SESSIONS, Identity, SmtpSettings
from cs.verifiers.smtp.mail_route import MxAddress
from cs.verifiers.smtp.verifier import SmtpVerifier
from harness.loopback_server import loopback_server
from verifiers.smtp.dns_server import dns_server
from verifiers.smtp.mail_world import DOMAIN, NOW, Clock
from verifiers.smtp.smtp_servers import Script, Waits, people, smtp_server

HOST = "127.77.25.1"


class Busy:
    """A mail server that counts who is there at once; each answer takes some turns."""

    def __init__(self) -> None:
        self.now = self.most = self.sessions = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        async with loopback_server(self._session, HOST) as port:
            yield port

    async def _session(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.now += 1
        self.sessions += 1
        self.most = max(self.most, self.now)
        try:
            await self._say(writer, "220 mx.test ESMTP")
            while line := (await reader.readline()).decode():
                if line.startswith("RCPT TO:<jo@"):
                    await self._say(writer, "250 2.1.5 Ok")
                elif line.startswith("RCPT"):
                    await self._say(writer, "550 5.1.1 User unknown")
                elif line.startswith("QUIT"):
                    break
                else:
                    await self._say(writer, "250 mx.test")
        finally:
            self.now -= 1

    async def _say(self, writer: asyncio.StreamWriter, reply: str) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        writer.write(f"{reply}\r\n".encode())
        await writer.drain()


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [1, SESSIONS])
async def test_a_hundred_domains_behind_one_host_meet_it_in_few_sessions_at_once(
    sessions: int,
) -> None:
    busy = Busy()
    domains = [f"brand{n}.test" for n in range(100)]
    async with dns_server() as zone, busy.listening() as port:
        zone.add("mx.host.test", A=[HOST])
        for domain in domains:
            zone.add(domain, MX=["10 mx.host.test."])
        verifier = SmtpVerifier(
            VerifierContext(
                settings={},
                resolver=DnsResolver(zone.address, timeout_s=5),
                guard=Guard(allow_networks=(IPv4Network("127.77.0.0/16"),)),
                now=lambda: NOW,
                monotonic=Clock(),
            ),
            # Of one address, waiting for a place not counted: all together take longer.
            SmtpSettings(
                helo="out.verify.test", port=port, address_s=10, connect_s=10, sessions=sessions
            ),
        )

        async def verdict(domain: str) -> Verdict:
            async with verifier.open(domain, DomainFacts()) as check:
                return (await check.check(f"jo@{domain}")).verdict

        verdicts = await asyncio.gather(*map(verdict, domains))

    assert set(verdicts) == {Verdict.DELIVERABLE}
    assert busy.most == sessions
    assert busy.sessions >= len(domains)


async def test_a_check_that_is_cancelled_during_a_good_bye_leaves_no_session_behind() -> None:
    heard_quit = asyncio.Event()
    script = Script(people("jo"), quit=Waits("221 2.0.0 Bye", heard_quit))
    async with smtp_server(script, HOST, 0) as (_, port):
        slots = asyncio.Semaphore(1)
        exchanger = Exchanger(
            MxAddress("mx.host.test", HOST, port),
            DOMAIN,
            Identity("out.verify.test", "check@verify.test"),
            SmtpSettings(),
            lambda _who, _text: None,
            slots=slots,
            pause_timeout=nullcontext,
            heard=lambda _kind: None,
        )
        await exchanger.ask(f"jo@{DOMAIN}")

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):  # the check's time is over while it says good-bye
                await exchanger.hang_up()
        heard_quit.set()
        await exchanger.abort()

        assert not slots.locked(), "or this host is asked by a session fewer for good"
