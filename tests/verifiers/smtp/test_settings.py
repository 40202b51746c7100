"""The verifier as its settings make it."""

from ipaddress import IPv4Network
from typing import Any

from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.plugins.verifiers import VerifierContext
from cs.verifiers.smtp.verifier import from_context
from verifiers.smtp.mail_world import DOMAIN, NOW, World
from verifiers.smtp.server_cases import PLAIN


def context(**settings: Any) -> VerifierContext:
    return VerifierContext(
        settings=settings,
        resolver=DnsResolver(("127.0.0.1", 53), 1.0),
        guard=Guard(),
        now=lambda: NOW,
        monotonic=lambda: 0.0,
    )


def test_smtp_needs_a_name_of_ours() -> None:
    assert from_context(context()) is None


async def test_a_salt_makes_the_probes_this_installations_own(world: World) -> None:
    heard = await world.exchanger(PLAIN)

    async def probed(salt: str) -> set[str]:
        settings = {"helo": "out.verify.test", "port": world.port, "salt": salt}
        verifier = from_context(
            VerifierContext(
                settings=settings,
                resolver=DnsResolver(world.zone.address, 1.0),
                guard=Guard(allow_networks=(IPv4Network("127.77.0.0/16"),)),
                now=lambda: NOW,
                monotonic=world.clock,
            )
        )
        assert verifier is not None
        heard.sessions.clear()
        await world.check("jo", verifier=verifier)
        return {name for names in heard.recipients() for name in names} - {f"jo@{DOMAIN}"}

    plain, again, ours = await probed(""), await probed(""), await probed("ours")

    assert plain
    assert plain == again
    assert plain.isdisjoint(ours)
