"""DNS, mail servers and a verifier, put together for one test."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Network

from msgspec.structs import replace

from cs.domain.mail.mailbox import DomainFacts, Evidence
from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.plugins.verifiers import VerifierContext
from cs.verifiers.smtp.identity import SmtpSettings
from cs.verifiers.smtp.verifier import SmtpVerifier
from verifiers.smtp.dns_server import Zone, dns_server
from verifiers.smtp.smtp_servers import Answer, Script, ServerRecord, smtp_server

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DOMAIN = "acme.test"
#: Long enough for a busy machine, short enough for a test that meets a silent server.
QUICK = SmtpSettings(address_s=5.0, connect_s=1.0, reply_s=0.4)
#: For tests in which nobody is silent.
PATIENT = SmtpSettings(address_s=120.0, connect_s=30.0, reply_s=30.0)


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


class World:
    """One domain, ``acme.test``, with as many exchangers as a test adds."""

    def __init__(self, zone: Zone, stack: AsyncExitStack) -> None:
        self.zone = zone
        self.port = 0
        self.clock = Clock()
        self.told: list[tuple[str, str | None]] = []  # of the operator
        self._stack = stack
        self._exchangers = 0

    async def exchanger(self, script: Script | Answer, *, preference: int = 10) -> ServerRecord:
        """Add a mail server, and a record that names it."""
        number = self._add_record(preference)
        if not isinstance(script, Script):
            script = Script(script)
        heard, self.port = await self._stack.enter_async_context(
            smtp_server(script, f"127.77.25.{number}", self.port)
        )
        return heard

    def dead_exchanger(self, *, preference: int = 5) -> None:
        """Add a record whose host refuses connections."""
        self._add_record(preference)

    def _add_record(self, preference: int) -> int:
        self._exchangers += 1
        number = self._exchangers
        self.zone.add(f"mx{number}.{DOMAIN}", A=[f"127.77.25.{number}"])
        records = self.zone.records.get(DOMAIN, {}).get("MX", [])
        self.zone.add(DOMAIN, MX=[*records, f"{preference} mx{number}.{DOMAIN}."])
        return number

    def verifier(
        self,
        settings: SmtpSettings = QUICK,
        *,
        allow: str = "127.77.0.0/16",
        **identity: str,
    ) -> SmtpVerifier:
        """Return a verifier with *settings*, and who we are by *identity*."""
        own = {"helo": "out.verify.test", "mail_from": "check@verify.test", **identity}
        return SmtpVerifier(
            VerifierContext(
                settings={},
                resolver=DnsResolver(self.zone.address, timeout_s=max(2.0, settings.reply_s)),
                guard=Guard(allow_networks=(IPv4Network(allow),) if allow else ()),
                now=lambda: NOW,
                monotonic=self.clock,
                tell_operator=lambda name, why: self.told.append((name, why)),
            ),
            replace(settings, port=self.port or 2525, **own),
        )

    async def check(
        self,
        *locals_: str,
        known: DomainFacts | None = None,
        verifier: SmtpVerifier | None = None,
    ) -> tuple[list[Evidence], DomainFacts]:
        """Check addresses at the domain in one go; also what was learned."""
        verifier = verifier or self.verifier()
        async with verifier.open(DOMAIN, known or DomainFacts()) as check:
            found = [await check.check(f"{local}@{DOMAIN}") for local in locals_]
            return found, check.learned

    async def check_one(self, local: str = "jo") -> Evidence:
        (found,), _ = await self.check(local)
        return found


@asynccontextmanager
async def mail_world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        zone = await stack.enter_async_context(dns_server())
        yield World(zone, stack)
