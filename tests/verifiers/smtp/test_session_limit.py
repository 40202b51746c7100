"""However many mail domains lie behind one exchanger, it sees few sessions of ours at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cs.domain.mail.mailbox import DomainFacts, Verdict
from harness.loopback_server import loopback_server
from verifiers.smtp.mail_world import DOMAIN, World
from verifiers.smtp.smtp_servers import Script, Waits, people

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
@pytest.mark.parametrize("sessions", [1, 2])
async def test_a_hundred_domains_behind_one_host_meet_it_in_few_sessions_at_once(
    sessions: int, world: World
) -> None:
    busy = Busy()
    domains = [f"brand{n}.test" for n in range(100)]
    async with busy.listening() as world.port:
        world.zone.add("mx.host.test", A=[HOST])
        for domain in domains:
            world.zone.add(domain, MX=["10 mx.host.test."])
        # Of one address, waiting for a place not counted: all together take longer.
        verifier = world.verifier(
            address_s=10.0, connect_s=10.0, reply_s=10.0, sessions=sessions
        )

        async def verdict(domain: str) -> Verdict:
            async with verifier.open(domain, DomainFacts()) as check:
                found: Verdict = (await check.check(f"jo@{domain}")).verdict
                return found

        verdicts = await asyncio.gather(*map(verdict, domains))

    assert set(verdicts) == {Verdict.DELIVERABLE}
    assert busy.most == sessions
    assert busy.sessions >= len(domains)


async def test_a_check_that_is_cancelled_during_a_good_bye_leaves_no_session_behind(
    world: World,
) -> None:
    heard_quit = asyncio.Event()
    await world.exchanger(Script(people("jo"), quit=Waits("221 2.0.0 Bye", heard_quit)))
    verifier = world.verifier(reply_s=9.0, sessions=1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):  # the check's time is over while it says good-bye
            await world.check("jo", verifier=verifier)
    heard_quit.set()

    async with asyncio.timeout(5):  # or this host is asked by a session fewer for good
        async with verifier.open(DOMAIN, DomainFacts()) as check:
            assert (await check.check(f"jo@{DOMAIN}")).verdict is Verdict.DELIVERABLE
