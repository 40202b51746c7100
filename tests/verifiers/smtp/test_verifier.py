from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.rule_sets import MAIL_REPLIES
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from verifiers.smtp.mail_world import DOMAIN, World, mail_world, read_again
from verifiers.smtp.server_cases import PLAIN, SERVERS, YES


class TestSmtpVerifier(VerifierContract):
    @pytest.fixture
    async def case(self) -> AsyncIterator[VerifierCase]:
        async with mail_world() as world:
            await world.exchanger(PLAIN)
            world.zone.trouble("silent.test", "MX", "SILENCE")
            yield VerifierCase(
                verifier=world.verifier(),
                mail_domain=DOMAIN,
                real=f"jo@{DOMAIN}",
                ghost=f"al@{DOMAIN}",
                silent_domain="silent.test",
            )


#: Others of the same server's, whose names read like words of a reply.
RENAMED = {"jo": "robin.mayfield", "al": "eu-5.minutes", "cy": "postmaster.x"}


def renamed(evidence: Evidence) -> Evidence:
    """Return *evidence* as if it were about somebody else, at another domain."""
    local, _, domain = evidence.address.partition("@")
    data = msgspec.json.encode(evidence)
    data = data.replace(f"{local}@{domain}".encode(), f"{RENAMED[local]}@{domain}".encode())
    data = data.replace(domain.encode(), b"relay-denied.full.test")
    return msgspec.json.decode(data, type=Evidence)


def slowly(*order: str) -> Any:
    return pytest.param(order, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize(
    "order", [("jo", "al"), slowly("al", "jo"), slowly("jo", "al", "jo", "cy")]
)
async def test_a_mail_server(name: str, order: tuple[str, ...], world: World) -> None:
    tried = SERVERS[name]
    heard = await world.exchanger(tried.script)

    found, _ = await world.check(*order)

    if order == ("jo", "al"):
        assert [(each.verdict, each.reason) for each in found] == [tried.jo, tried.al]
    for place, (local, evidence) in enumerate(zip(order, found, strict=True)):
        if evidence.verdict is Verdict.DELIVERABLE:
            assert local == "jo", "a false deliverable"
            assert tried.jo == YES or place == 2, "a false deliverable"
        assert len(msgspec.json.encode(evidence)) <= 8192
        assert evidence.rules == MAIL_REPLIES
        again = read_again(evidence)
        assert again in {None, (evidence.verdict, evidence.reason)}, evidence
        assert read_again(renamed(evidence)) == again, "names say nothing"
    assert not any(command.startswith("DATA") for command in heard.commands)
    for recipients in heard.recipients():
        assert len(recipients) <= 4
        assert sum(f"{local}@{DOMAIN}" in recipients for local in set(order)) <= 3
