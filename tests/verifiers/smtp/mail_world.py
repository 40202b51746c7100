"""DNS, mail servers and a verifier, put together for one test."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.plugins.entry_points import Group
from cs.plugins.verifiers import VerifierContext
from cs.verifiers.smtp.rereading import reread
from harness.clients import dns_resolver, guard, plugin
from verifiers.smtp.dns_server import Zone, dns_server
from verifiers.smtp.smtp_servers import Answer, Script, ServerRecord, smtp_server

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DOMAIN = "acme.test"
#: Long enough for a busy machine, short enough for a test that meets a silent server.
QUICK: dict[str, Any] = {"address_s": 5.0, "connect_s": 1.0, "reply_s": 0.4}


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

    def verifier(self, *, allow: str = "127.77.0.0/16", **settings: Any) -> Any:
        """Return a verifier with *settings*, otherwise a quick one with a name."""
        own = {"helo": "out.verify.test", "mail_from": "check@verify.test"}
        settings = {**QUICK, **own, "port": self.port or 2525, **settings}
        context = VerifierContext(
            settings=settings,
            resolver=dns_resolver(self.zone.address, max(2.0, settings["reply_s"])),
            guard=guard(*([allow] if allow else [])),
            now=lambda: NOW,
            monotonic=self.clock,
            tell_operator=lambda name, why: self.told.append((name, why)),
        )
        return plugin(Group.VERIFIERS, "smtp", context)

    async def check(
        self,
        *locals_: str,
        known: DomainFacts | None = None,
        verifier: Any = None,
    ) -> tuple[list[Evidence], DomainFacts]:
        """Check addresses at the domain in one go; also what was learned."""
        verifier = verifier or self.verifier()
        async with verifier.open(DOMAIN, known or DomainFacts()) as check:
            found = [await check.check(f"{local}@{DOMAIN}") for local in locals_]
            return found, check.learned

    async def check_one(self, local: str = "jo") -> Evidence:
        (found,), _ = await self.check(local)
        return found


def read_again(evidence: Evidence) -> tuple[Verdict, str] | None:
    """Return how the rules of today read the conversation in *evidence*."""
    again = reread(evidence)
    return None if again is None else (again.verdict, again.reason)


@asynccontextmanager
async def mail_world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        zone = await stack.enter_async_context(dns_server())
        yield World(zone, stack)
